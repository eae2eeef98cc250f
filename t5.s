	.file	"<string>"
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_0:
	.long	0xff800000
.LCPI0_1:
	.long	0x7fc00000
.LCPI0_2:
	.long	0xc2d00000
.LCPI0_3:
	.long	0x42b20000
.LCPI0_4:
	.long	0x3fb8aa3b
.LCPI0_5:
	.long	0xcb400000
.LCPI0_6:
	.long	0xbf318000
.LCPI0_7:
	.long	0x395e8083
.LCPI0_8:
	.long	0x3c091cf1
.LCPI0_9:
	.long	0x3ab51225
.LCPI0_10:
	.long	0x3d2aac79
.LCPI0_11:
	.long	0x3e2aaa49
.LCPI0_12:
	.long	0x3efffffe
.LCPI0_13:
	.long	0x3f800000
	.text
	.globl	kernel_0
	.p2align	4
	.type	kernel_0,@function
kernel_0:
	cmpq	%rcx, %rdx
	jae	.LBB0_8
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-64, %rsp
	subq	$1024, %rsp
	vbroadcastss	.LCPI0_1(%rip), %zmm5
	vbroadcastss	.LCPI0_3(%rip), %zmm8
	vbroadcastss	.LCPI0_4(%rip), %zmm11
	vbroadcastss	.LCPI0_5(%rip), %zmm10
	vbroadcastss	.LCPI0_6(%rip), %zmm9
	vbroadcastss	.LCPI0_7(%rip), %zmm17
	vbroadcastss	.LCPI0_8(%rip), %zmm15
	vbroadcastss	.LCPI0_9(%rip), %zmm12
	vbroadcastss	.LCPI0_10(%rip), %zmm16
	vbroadcastss	.LCPI0_11(%rip), %zmm30
	vbroadcastss	.LCPI0_12(%rip), %zmm14
	imulq	$18612, %rdx, %rax
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm6, %xmm6, %xmm6
	addq	%rax, %rdi
	addq	%rax, %rsi
	.p2align	4
.LBB0_2:
	vbroadcastss	.LCPI0_0(%rip), %zmm24
	vmovss	.LCPI0_0(%rip), %xmm1
	movl	$560, %eax
	vmovaps	%zmm24, (%rsp)
	vmovaps	%xmm24, 64(%rsp)
	vmovaps	%xmm24, 80(%rsp)
	vmovaps	%xmm24, 96(%rsp)
	movl	$-8388608, 112(%rsp)
	vmovaps	%xmm24, %xmm0
	vmovaps	%xmm24, %xmm2
	vmovaps	%xmm24, %xmm4
	vmovaps	%zmm24, %zmm31
	vmovaps	%zmm24, %zmm18
	vmovaps	%zmm24, %zmm19
	vmovaps	%zmm24, %zmm20
	vmovaps	%zmm24, %zmm21
	vmovaps	%zmm24, %zmm22
	vmovaps	%zmm24, %zmm23
	.p2align	4
.LBB0_3:
	vcmpunordps	%zmm3, %zmm24, %k1
	vmaxps	-560(%rdi,%rax), %zmm24, %zmm24
	vcmpunordps	%zmm3, %zmm23, %k2
	vmaxps	-496(%rdi,%rax), %zmm23, %zmm23
	vcmpunordps	%zmm3, %zmm22, %k3
	vmaxps	-432(%rdi,%rax), %zmm22, %zmm22
	vcmpunordps	%zmm3, %zmm21, %k4
	vmaxps	-368(%rdi,%rax), %zmm21, %zmm21
	vmovaps	%zmm5, %zmm24 {%k1}
	vcmpunordps	%zmm3, %zmm20, %k1
	vmaxps	-304(%rdi,%rax), %zmm20, %zmm20
	vmovaps	%zmm5, %zmm23 {%k2}
	vmovaps	%zmm5, %zmm22 {%k3}
	vmovaps	%zmm5, %zmm21 {%k4}
	vcmpunordps	%zmm3, %zmm19, %k2
	vmaxps	-240(%rdi,%rax), %zmm19, %zmm19
	vcmpunordps	%zmm3, %zmm18, %k3
	vmaxps	-176(%rdi,%rax), %zmm18, %zmm18
	vcmpunordps	%zmm3, %zmm31, %k4
	vmaxps	-112(%rdi,%rax), %zmm31, %zmm31
	vmovaps	%zmm5, %zmm20 {%k1}
	vcmpunordps	%xmm6, %xmm4, %k1
	vmaxps	-48(%rdi,%rax), %xmm4, %xmm4
	vmovaps	%zmm5, %zmm19 {%k2}
	vmovaps	%zmm5, %zmm18 {%k3}
	vmovaps	%zmm5, %zmm31 {%k4}
	vmovaps	%xmm5, %xmm4 {%k1}
	vcmpunordps	%xmm6, %xmm2, %k1
	vmaxps	-32(%rdi,%rax), %xmm2, %xmm2
	vmovaps	%xmm5, %xmm2 {%k1}
	vcmpunordps	%xmm6, %xmm0, %k1
	vmaxps	-16(%rdi,%rax), %xmm0, %xmm0
	vmovaps	%xmm5, %xmm0 {%k1}
	vcmpunordss	%xmm1, %xmm1, %k1
	vmaxss	(%rdi,%rax), %xmm1, %xmm1
	addq	$564, %rax
	vmovss	.LCPI0_1(%rip), %xmm1 {%k1}
	cmpq	$19172, %rax
	jne	.LBB0_3
	vmovaps	%zmm31, (%rsp)
	vmovaps	%xmm4, 64(%rsp)
	vmovaps	%xmm2, 80(%rsp)
	vmovaps	%xmm0, 96(%rsp)
	vmovss	%xmm1, 112(%rsp)
	movl	$500, %eax
	vmovups	52(%rsp), %zmm0
	vmovaps	%zmm0, 128(%rsp)
	.p2align	4
.LBB0_5:
	vmovups	-500(%rdi,%rax), %zmm0
	vmovups	-308(%rdi,%rax), %zmm3
	vmovups	-436(%rdi,%rax), %zmm1
	vmovups	-372(%rdi,%rax), %zmm2
	vmovaps	%zmm11, %zmm4
	vbroadcastss	.LCPI0_4(%rip), %zmm28
	vsubps	%zmm24, %zmm0, %zmm0
	vsubps	%zmm21, %zmm3, %zmm3
	vsubps	%zmm23, %zmm1, %zmm1
	vsubps	%zmm22, %zmm2, %zmm2
	vmovaps	%zmm3, 704(%rsp)
	vminps	%zmm3, %zmm8, %zmm3
	vminps	%zmm0, %zmm8, %zmm7
	vmovaps	%zmm0, 896(%rsp)
	vmovaps	%zmm11, %zmm0
	vminps	%zmm1, %zmm8, %zmm6
	vminps	%zmm2, %zmm8, %zmm5
	vmovaps	%zmm1, 832(%rsp)
	vmovaps	%zmm11, %zmm1
	vmovaps	%zmm2, 768(%rsp)
	vmovaps	%zmm11, %zmm2
	vfmsub213ps	%zmm10, %zmm7, %zmm0
	vfmsub213ps	%zmm10, %zmm3, %zmm4
	vfmsub213ps	%zmm10, %zmm5, %zmm2
	vfmsub213ps	%zmm10, %zmm6, %zmm1
	vaddps	%zmm10, %zmm0, %zmm13
	vaddps	%zmm10, %zmm4, %zmm0
	vaddps	%zmm10, %zmm1, %zmm11
	vaddps	%zmm10, %zmm2, %zmm2
	vmovups	-180(%rdi,%rax), %zmm1
	vfmadd231ps	%zmm9, %zmm0, %zmm3
	vfmadd231ps	%zmm9, %zmm13, %zmm7
	vfmadd231ps	%zmm9, %zmm11, %zmm6
	vfmadd231ps	%zmm9, %zmm2, %zmm5
	vmovaps	%zmm2, 576(%rsp)
	vmovaps	%zmm13, 448(%rsp)
	vmovaps	%zmm0, 640(%rsp)
	vmovaps	%zmm11, 512(%rsp)
	vfmadd231ps	%zmm17, %zmm0, %zmm3
	vfmadd231ps	%zmm17, %zmm13, %zmm7
	vfmadd231ps	%zmm17, %zmm11, %zmm6
	vfmadd231ps	%zmm17, %zmm2, %zmm5
	vmovaps	%zmm12, %zmm17
	vmovaps	%zmm17, %zmm2
	vmovaps	%zmm17, %zmm4
	vmovaps	%zmm17, %zmm25
	vfmadd213ps	%zmm15, %zmm3, %zmm2
	vfmadd213ps	%zmm15, %zmm6, %zmm4
	vmulps	%zmm3, %zmm3, %zmm13
	vfmadd213ps	%zmm15, %zmm7, %zmm12
	vfmadd213ps	%zmm15, %zmm5, %zmm25
	vmulps	%zmm6, %zmm6, %zmm0
	vmulps	%zmm7, %zmm7, %zmm9
	vmulps	%zmm5, %zmm5, %zmm11
	vfmadd213ps	%zmm16, %zmm3, %zmm2
	vfmadd213ps	%zmm16, %zmm6, %zmm4
	vfmadd213ps	%zmm16, %zmm7, %zmm12
	vfmadd213ps	%zmm16, %zmm5, %zmm25
	vfmadd213ps	%zmm30, %zmm3, %zmm2
	vfmadd213ps	%zmm30, %zmm6, %zmm4
	vfmadd213ps	%zmm30, %zmm7, %zmm12
	vfmadd213ps	%zmm30, %zmm5, %zmm25
	vfmadd213ps	%zmm14, %zmm3, %zmm2
	vfmadd213ps	%zmm14, %zmm6, %zmm4
	vfmadd213ps	%zmm14, %zmm7, %zmm12
	vfmadd213ps	%zmm14, %zmm5, %zmm25
	vfmadd213ps	%zmm3, %zmm13, %zmm2
	vmovups	-244(%rdi,%rax), %zmm3
	vfmadd213ps	%zmm6, %zmm0, %zmm4
	vfmadd213ps	%zmm7, %zmm9, %zmm12
	vfmadd213ps	%zmm5, %zmm11, %zmm25
	vmovups	-116(%rdi,%rax), %zmm7
	vmovups	-52(%rdi,%rax), %zmm11
	vsubps	%zmm19, %zmm1, %zmm9
	vmovaps	%zmm16, %zmm6
	vbroadcastss	.LCPI0_4(%rip), %zmm13
	vmovaps	%zmm17, %zmm5
	vaddps	.LCPI0_13(%rip){1to16}, %zmm12, %zmm12
	vaddps	.LCPI0_13(%rip){1to16}, %zmm4, %zmm4
	vaddps	.LCPI0_13(%rip){1to16}, %zmm2, %zmm2
	vminps	%zmm9, %zmm8, %zmm26
	vsubps	%zmm20, %zmm3, %zmm0
	vsubps	%zmm18, %zmm7, %zmm1
	vsubps	%zmm31, %zmm11, %zmm7
	vmovaps	%zmm0, 384(%rsp)
	vminps	%zmm0, %zmm8, %zmm27
	vbroadcastss	.LCPI0_4(%rip), %zmm0
	vminps	%zmm7, %zmm8, %zmm16
	vmovaps	%zmm7, 256(%rsp)
	vbroadcastss	.LCPI0_4(%rip), %zmm7
	vminps	%zmm1, %zmm8, %zmm3
	vmovaps	%zmm1, 320(%rsp)
	vfmsub213ps	%zmm10, %zmm3, %zmm13
	vfmsub213ps	%zmm10, %zmm16, %zmm28
	vaddps	%zmm10, %zmm13, %zmm13
	vfmadd231ps	.LCPI0_6(%rip){1to16}, %zmm13, %zmm3
	vfmsub213ps	%zmm10, %zmm27, %zmm0
	vfmsub213ps	%zmm10, %zmm26, %zmm7
	vfmadd231ps	.LCPI0_7(%rip){1to16}, %zmm13, %zmm3
	vaddps	%zmm10, %zmm0, %zmm11
	vfmadd231ps	.LCPI0_6(%rip){1to16}, %zmm11, %zmm27
	vaddps	%zmm10, %zmm7, %zmm7
	vfmadd231ps	.LCPI0_6(%rip){1to16}, %zmm7, %zmm26
	vaddps	%zmm10, %zmm28, %zmm0
	vfmadd231ps	.LCPI0_6(%rip){1to16}, %zmm0, %zmm16
	vmovaps	%zmm0, 192(%rsp)
	vfmadd231ps	.LCPI0_7(%rip){1to16}, %zmm11, %zmm27
	vfmadd231ps	.LCPI0_7(%rip){1to16}, %zmm7, %zmm26
	vfmadd231ps	.LCPI0_7(%rip){1to16}, %zmm0, %zmm16
	vmulps	%zmm3, %zmm3, %zmm0
	vfmadd213ps	%zmm15, %zmm27, %zmm5
	vmulps	%zmm27, %zmm27, %zmm28
	vmulps	%zmm26, %zmm26, %zmm29
	vmulps	%zmm16, %zmm16, %zmm1
	vfmadd213ps	%zmm6, %zmm27, %zmm5
	vfmadd213ps	%zmm30, %zmm27, %zmm5
	vfmadd213ps	%zmm14, %zmm27, %zmm5
	vfmadd213ps	%zmm27, %zmm28, %zmm5
	vmovaps	%zmm17, %zmm27
	vfmadd213ps	%zmm15, %zmm26, %zmm27
	vmovaps	%zmm17, %zmm28
	vfmadd213ps	%zmm15, %zmm3, %zmm28
	vfmadd213ps	%zmm6, %zmm26, %zmm27
	vfmadd213ps	%zmm6, %zmm3, %zmm28
	vfmadd213ps	%zmm30, %zmm26, %zmm27
	vfmadd213ps	%zmm30, %zmm3, %zmm28
	vfmadd213ps	%zmm14, %zmm26, %zmm27
	vfmadd213ps	%zmm14, %zmm3, %zmm28
	vfmadd213ps	%zmm26, %zmm29, %zmm27
	vmovaps	%zmm17, %zmm26
	vfmadd213ps	%zmm15, %zmm16, %zmm26
	vfmadd213ps	%zmm3, %zmm0, %zmm28
	vmovups	(%rdi,%rax), %zmm0
	vbroadcastss	.LCPI0_4(%rip), %zmm3
	vmovaps	%zmm17, %zmm29
	vsubps	128(%rsp), %zmm0, %zmm0
	vfmadd213ps	%zmm6, %zmm16, %zmm26
	vfmadd213ps	%zmm30, %zmm16, %zmm26
	vfmadd213ps	%zmm14, %zmm16, %zmm26
	vfmadd213ps	%zmm16, %zmm1, %zmm26
	vminps	%zmm0, %zmm8, %zmm1
	vfmsub213ps	%zmm10, %zmm1, %zmm3
	vaddps	%zmm10, %zmm3, %zmm3
	vfmadd231ps	.LCPI0_6(%rip){1to16}, %zmm3, %zmm1
	vfmadd231ps	.LCPI0_7(%rip){1to16}, %zmm3, %zmm1
	vfmadd213ps	%zmm15, %zmm1, %zmm29
	vmulps	%zmm1, %zmm1, %zmm16
	vfmadd213ps	%zmm6, %zmm1, %zmm29
	vfmadd213ps	%zmm30, %zmm1, %zmm29
	vfmadd213ps	%zmm14, %zmm1, %zmm29
	vfmadd213ps	%zmm1, %zmm16, %zmm29
	vbroadcastss	.LCPI0_2(%rip), %zmm16
	vcmpngtps	896(%rsp), %zmm16, %k1
	vcmpngtps	832(%rsp), %zmm16, %k2
	vcmpngtps	768(%rsp), %zmm16, %k3
	vcmpngtps	704(%rsp), %zmm16, %k4
	vscalefps	448(%rsp), %zmm12, %zmm1 {%k1} {z}
	vaddps	.LCPI0_13(%rip){1to16}, %zmm25, %zmm12
	vscalefps	512(%rsp), %zmm4, %zmm4 {%k2} {z}
	vbroadcastss	.LCPI0_13(%rip), %zmm25
	vcmpngtps	384(%rsp), %zmm16, %k1
	vscalefps	640(%rsp), %zmm2, %zmm2 {%k4} {z}
	vcmpngtps	256(%rsp), %zmm16, %k4
	vcmpnltps	%zmm16, %zmm9, %k2
	vbroadcastss	.LCPI0_6(%rip), %zmm9
	vmovups	%zmm1, -500(%rsi,%rax)
	vaddps	.LCPI0_13(%rip){1to16}, %zmm5, %zmm1
	vscalefps	576(%rsp), %zmm12, %zmm12 {%k3} {z}
	vmovups	%zmm4, -436(%rsi,%rax)
	vaddps	.LCPI0_13(%rip){1to16}, %zmm27, %zmm4
	vaddps	%zmm25, %zmm26, %zmm5
	vcmpngtps	320(%rsp), %zmm16, %k3
	vscalefps	192(%rsp), %zmm5, %zmm5 {%k4} {z}
	vmovups	%zmm12, -372(%rsi,%rax)
	vscalefps	%zmm11, %zmm1, %zmm1 {%k1} {z}
	vmovaps	%zmm17, %zmm12
	vbroadcastss	.LCPI0_7(%rip), %zmm17
	vbroadcastss	.LCPI0_4(%rip), %zmm11
	vmovups	%zmm2, -308(%rsi,%rax)
	vcmpnltps	%zmm16, %zmm0, %k1
	vaddps	%zmm25, %zmm29, %zmm0
	vscalefps	%zmm7, %zmm4, %zmm2 {%k2} {z}
	vaddps	%zmm25, %zmm28, %zmm4
	vmovaps	%zmm6, %zmm16
	vscalefps	%zmm13, %zmm4, %zmm4 {%k3} {z}
	vscalefps	%zmm3, %zmm0, %zmm0 {%k1} {z}
	vmovups	%zmm1, -244(%rsi,%rax)
	vmovups	%zmm2, -180(%rsi,%rax)
	vmovups	%zmm4, -116(%rsi,%rax)
	vmovups	%zmm5, -52(%rsi,%rax)
	vmovups	%zmm0, (%rsi,%rax)
	addq	$564, %rax
	cmpq	$19112, %rax
	jne	.LBB0_5
	vbroadcastss	.LCPI0_1(%rip), %zmm5
	incq	%rdx
	addq	$18612, %rdi
	addq	$18612, %rsi
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm6, %xmm6, %xmm6
	cmpq	%rcx, %rdx
	jne	.LBB0_2
	movq	%rbp, %rsp
	popq	%rbp
.LBB0_8:
	vzeroupper
	retq
.Lfunc_end0:
	.size	kernel_0, .Lfunc_end0-kernel_0

	.globl	kernel_0.arrays
	.p2align	4
	.type	kernel_0.arrays,@function
kernel_0.arrays:
	movq	16(%rdi), %rdi
	movq	16(%rsi), %rsi
	jmp	kernel_0@PLT
.Lfunc_end1:
	.size	kernel_0.arrays, .Lfunc_end1-kernel_0.arrays

	.globl	kernel_0.slots
	.p2align	4
	.type	kernel_0.slots,@function
kernel_0.slots:
	movq	(%rsi), %rax
	movq	8(%rsi), %rsi
	movq	(%rdi,%rax,8), %rax
	movq	(%rdi,%rsi,8), %rsi
	movq	%rax, %rdi
	jmp	kernel_0@PLT
.Lfunc_end2:
	.size	kernel_0.slots, .Lfunc_end2-kernel_0.slots

	.section	".note.GNU-stack","",@progbits
