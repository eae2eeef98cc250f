# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Write a rule, prove it, see what it buys
#
# **You believe that an identity holds for index expressions. Is it true? What is missing if not? And what does a program gain?**
#
# A rule is an equality of two terms over pattern variables, under conditions.

# %%
import eqsat

x, n, d = eqsat.pattern("x"), eqsat.pattern("n"), eqsat.pattern("d")
rule = eqsat.Rule("digit-of-remainder", (x % n) // d, (x // d) % (n // d), when=(n > 0, d > 0))
verdict = eqsat.check_rule(rule)
print(verdict)

# %% [markdown]
# Refuted, with the smallest counterexample, and with the condition that it lacks. A verdict is true only if the rule is proved:

# %%
print(verdict.counterexample, verdict.missing_guard)
mended = eqsat.Rule("digit-of-remainder", rule.lhs, rule.rhs, when=(n > 0, d > 0, n % d == 0), why="d divides n")
print(eqsat.check_rule(mended))

# %% [markdown]
# ## Tempting and false
#
# Rules that hold for non-negative numbers, or for the numbers that one happens to try, are the usual mistakes:

# %%
y = eqsat.pattern("y")
tempting = [
    eqsat.Rule("division-distributes", (x + y) // n, x // n + y // n, when=n > 0),
    eqsat.Rule("truncates", (-x) // n, -(x // n), when=n > 0),
    eqsat.Rule("small-enough", eqsat.minimum(x, 1000), x, when=x <= 1001),
    eqsat.Rule("mask", x & 255, x, when=(x >= 0, x < 300)),
    eqsat.Rule("shift-and-back", (x << d) >> d, x),
]
for candidate in tempting:
    print(eqsat.check_rule(candidate), "\n")

# %% [markdown]
# ## Using a rule
#
# Rules are handed over by `Options`, beside the built-in tables or beside those that are named. One that is not proved is not accepted:

# %%
try:
    eqsat.Options(rules=[tempting[0]])
except eqsat.EqsatError as error:
    print(error)

# %% [markdown]
# To see what the rule does by itself, switch off the tables of divisions:

# %%
merged = eqsat.Rule("merge-digits", (x // d % n) * d + x % d, x % (d * n), when=(d > 0, n > 0))
print(eqsat.check_rule(merged))

v = eqsat.var("v", 0, 999)
term = (v % 24) // 4 * 4 + v % 4
few = eqsat.rules.without("identities", "ranges", "factors", "symbolic")
for rules in (few, (*few, mended), (*few, mended, merged)):
    found = eqsat.optimize(term, options=eqsat.Options(rules=rules))
    print(f"{float(found.cost):4.1f} ns  {found.expr}")

# %% [markdown]
# The left side of a rule may be a part of a longer sum, and operands of `+`, `*`, min, max, `and`, `or` match in any order. The
# explanation names the rule like any other:

# %%
whole = eqsat.Rule("whole-of-parts", x % n + n * (x // n), x, when=n != 0)
found = eqsat.optimize(v // 6 * 6 + 5 + v % 6, options=eqsat.Options(rules=(*few, whole)))
print(found.explain())

# %% [markdown]
# ## What a program gains
#
# The same options serve programs. A pixel shuffle there and back, without the built-in rules about divisions, and with six of ours:


# %%
def shuffle(image):
    h, w = image.shape
    blocks = image.reshape(h // 2, 2, w // 2, 2).transpose(0, 2, 1, 3).reshape(h * w)
    return blocks.reshape(h // 2, w // 2, 2, 2).transpose(0, 2, 1, 3).reshape(h, w) * 2


ours = [
    mended,
    merged,
    whole,
    eqsat.Rule("multiple-leaves", (n * x + y) // n, x + y // n, when=n != 0),
    eqsat.Rule("multiple-vanishes", (n * x + y) % n, y % n, when=n != 0),
    eqsat.Rule("wraps-nothing", x % n, x, when=(x >= 0, x < n)),
]
spec = eqsat.spec((64, 64), "float32")
results = {}
for name, rules in (("without", few), ("with ours", (*few, *ours)), ("all of eqsat's", None)):
    results[name] = eqsat.optimize(shuffle, spec, options=eqsat.Options(rules=rules))
    print(f"{name:15} {results[name].cost}")

# %%
print(eqsat.compare(results["without"], results["with ours"]))

# %% [markdown]
# How a rule comes into the built-in tables, which asks for tests that it fires and is worth its time, is told in
# [ARCHITECTURE.md](../ARCHITECTURE.md). Next: [a real case](07_real_cases.ipynb).
