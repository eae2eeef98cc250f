"""The page of each class that displays itself."""

from __future__ import annotations

import functools

from eqsat.explaining.ablation import Ablation
from eqsat.ir.index import Index
from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Program
from eqsat.kernels.listing import KernelListing, Listing
from eqsat.pricing.costs import Cost
from eqsat.proving.certificate import Certificate
from eqsat.proving.proof import Proof
from eqsat.report import Report
from eqsat.result import IndexResult, Result
from eqsat.running.plan import Plan
from eqsat.showing import html, indices, listings, plans, reports, results, views
from eqsat.views.picture import Picture
from eqsat.views.stack import ViewStack
from eqsat.views.strided import View


@functools.singledispatch
def body(value: object) -> str:
    """What a page shows of a value; its text where its class has no page of its own."""
    return html.block(value)


body.register(Ablation, reports.ablation_body)
body.register(Certificate, reports.certificate_body)
body.register(Cost, reports.cost_body)
body.register(Index, indices.index_body)
body.register(IndexResult, indices.index_result_body)
body.register(Kernel, listings.kernel_body)
body.register(KernelListing, listings.kernel_listing_body)
body.register(Listing, listings.listing_body)
body.register(Picture, views.picture_body)
body.register(Plan, plans.plan_body)
body.register(Program, plans.program_body)
body.register(Proof, indices.proof_body)
body.register(Report, reports.report_body)
body.register(Result, results.result_body)
body.register(View, views.view_body)
body.register(ViewStack, views.stack_body)


def page(value: object) -> str:
    """The HTML of a value."""
    return html.page(body(value))
