define void @"kernel_0"(ptr noalias noundef align 4 readonly dereferenceable(130284) %b0, ptr noalias noundef align 4 dereferenceable(130284) %b1, i64 noundef range(i64 0, 8) %begin, i64 noundef range(i64 0, 8) %end) #0 {
entry:
  %b2 = alloca [564 x i8], align 64
  %v1 = icmp slt i64 %begin, %end
  br i1 %v1, label %some, label %none
some:
  %v2 = add nsw i64 %begin, 0
  %v3 = trunc nuw nsw i64 %v2 to i32
  %v4 = add nsw i64 %end, 0
  %v5 = trunc nuw nsw i64 %v4 to i32
  br label %loop6
loop6:
  %x7 = phi i32 [ %v3, %some ], [ %v106, %loop6.next ]
  %v8 = mul nuw nsw i32 %x7, 4653
  br label %loop9
loop9:
  %x10 = phi i32 [ 0, %loop6 ], [ %v13, %loop9.next ]
  %v11 = zext nneg i32 %x10 to i64
  %p12 = getelementptr inbounds nuw float, ptr %b2, i64 %v11
  store float 0xFFF0000000000000, ptr %p12
  br label %loop9.next
loop9.next:
  %v13 = add nsw i32 %x10, 1
  %v14 = icmp slt i32 %v13, 141
  br i1 %v14, label %loop9, label %loop9.end
loop9.end:
  br label %loop15
loop15:
  %x16 = phi i32 [ 0, %loop9.end ], [ %v34, %loop15.next ]
  %v17 = mul nuw nsw i32 %x16, 141
  %v18 = add nuw nsw i32 %v8, %v17
  br label %loop19
loop19:
  %x20 = phi i32 [ 0, %loop15 ], [ %v32, %loop19.next ]
  %v21 = add nuw nsw i32 %v18, %x20
  %v22 = zext nneg i32 %v21 to i64
  %p23 = getelementptr inbounds nuw float, ptr %b0, i64 %v22
  %v24 = load float, ptr %p23
  %v25 = zext nneg i32 %x20 to i64
  %p26 = getelementptr inbounds nuw float, ptr %b2, i64 %v25
  %v27 = load float, ptr %p26
  %v28 = fcmp uno float %v27, %v27
  %v29 = fcmp ogt float %v27, %v24
  %v30 = select i1 %v29, float %v27, float %v24
  %v31 = select i1 %v28, float 0x7FF8000000000000, float %v30
  store float %v31, ptr %p26
  br label %loop19.next
loop19.next:
  %v32 = add nsw i32 %x20, 1
  %v33 = icmp slt i32 %v32, 141
  br i1 %v33, label %loop19, label %loop19.end
loop19.end:
  br label %loop15.next
loop15.next:
  %v34 = add nsw i32 %x16, 1
  %v35 = icmp slt i32 %v34, 33
  br i1 %v35, label %loop15, label %loop15.end
loop15.end:
  br label %loop36
loop36:
  %x37 = phi i32 [ 0, %loop15.end ], [ %v104, %loop36.next ]
  %v38 = mul nuw nsw i32 %x37, 141
  %v39 = add nuw nsw i32 %v8, %v38
  br label %loop40
loop40:
  %x41 = phi i32 [ 0, %loop36 ], [ %v70, %loop40.next ]
  %v42 = add nuw nsw i32 %v39, %x41
  %v43 = zext nneg i32 %v42 to i64
  %p44 = getelementptr inbounds nuw float, ptr %b0, i64 %v43
  %v45 = load float, ptr %p44
  %v46 = zext nneg i32 %x41 to i64
  %p47 = getelementptr inbounds nuw float, ptr %b2, i64 %v46
  %v48 = load float, ptr %p47
  %v49 = fsub contract float %v45, %v48
  %v50 = fcmp olt float %v49, 0xC05A000000000000
  %v51 = fcmp ogt float %v49, 0x4056400000000000
  %v52 = select i1 %v51, float 0x4056400000000000, float %v49
  %v53 = call float @llvm.fmuladd.f32(float %v52, float 0x3FF7154760000000, float 0x4168000000000000)
  %v54 = fsub float %v53, 0x4168000000000000
  %v55 = bitcast float %v53 to i32
  %v56 = sub i32 %v55, 1262485504
  %v57 = call float @llvm.fmuladd.f32(float %v54, float 0xBFE6300000000000, float %v52)
  %v58 = call float @llvm.fmuladd.f32(float %v54, float 0x3F2BD01060000000, float %v57)
  %v59 = fmul float %v58, %v58
  %v60 = call float @llvm.fmuladd.f32(float 0x3F56A244A0000000, float %v58, float 0x3F81239E20000000)
  %v61 = call float @llvm.fmuladd.f32(float %v60, float %v58, float 0x3FA5558F20000000)
  %v62 = call float @llvm.fmuladd.f32(float %v61, float %v58, float 0x3FC5554920000000)
  %v63 = call float @llvm.fmuladd.f32(float %v62, float %v58, float 0x3FDFFFFFC0000000)
  %v64 = call float @llvm.fmuladd.f32(float %v59, float %v63, float %v58)
  %v65 = fadd float %v64, 0x3FF0000000000000
  %v66 = call float @native.scalef.f32(float %v65, float %v54) nounwind willreturn memory(none) "vector-function-abi-variant"="_ZGV_LLVM_N4vv_native.scalef.f32(native.scalef.f32.4),_ZGV_LLVM_N8vv_native.scalef.f32(native.scalef.f32.8),_ZGV_LLVM_N16vv_native.scalef.f32(native.scalef.f32.16)"
  %v67 = select i1 %v50, float 0x0000000000000000, float %v66
  %v68 = zext nneg i32 %v42 to i64
  %p69 = getelementptr inbounds nuw float, ptr %b1, i64 %v68
  store float %v67, ptr %p69
  br label %loop40.next
loop40.next:
  %v70 = add nsw i32 %x41, 1
  %v71 = icmp slt i32 %v70, 128
  br i1 %v71, label %loop40, label %loop40.end, !llvm.loop !0
loop40.end:
  br label %loop72
loop72:
  %x73 = phi i32 [ 125, %loop40.end ], [ %v102, %loop72.next ]
  %v74 = add nuw nsw i32 %v39, %x73
  %v75 = zext nneg i32 %v74 to i64
  %p76 = getelementptr inbounds nuw float, ptr %b0, i64 %v75
  %v77 = load float, ptr %p76
  %v78 = zext nneg i32 %x73 to i64
  %p79 = getelementptr inbounds nuw float, ptr %b2, i64 %v78
  %v80 = load float, ptr %p79
  %v81 = fsub contract float %v77, %v80
  %v82 = fcmp olt float %v81, 0xC05A000000000000
  %v83 = fcmp ogt float %v81, 0x4056400000000000
  %v84 = select i1 %v83, float 0x4056400000000000, float %v81
  %v85 = call float @llvm.fmuladd.f32(float %v84, float 0x3FF7154760000000, float 0x4168000000000000)
  %v86 = fsub float %v85, 0x4168000000000000
  %v87 = bitcast float %v85 to i32
  %v88 = sub i32 %v87, 1262485504
  %v89 = call float @llvm.fmuladd.f32(float %v86, float 0xBFE6300000000000, float %v84)
  %v90 = call float @llvm.fmuladd.f32(float %v86, float 0x3F2BD01060000000, float %v89)
  %v91 = fmul float %v90, %v90
  %v92 = call float @llvm.fmuladd.f32(float 0x3F56A244A0000000, float %v90, float 0x3F81239E20000000)
  %v93 = call float @llvm.fmuladd.f32(float %v92, float %v90, float 0x3FA5558F20000000)
  %v94 = call float @llvm.fmuladd.f32(float %v93, float %v90, float 0x3FC5554920000000)
  %v95 = call float @llvm.fmuladd.f32(float %v94, float %v90, float 0x3FDFFFFFC0000000)
  %v96 = call float @llvm.fmuladd.f32(float %v91, float %v95, float %v90)
  %v97 = fadd float %v96, 0x3FF0000000000000
  %v98 = call float @native.scalef.f32(float %v97, float %v86) nounwind willreturn memory(none) "vector-function-abi-variant"="_ZGV_LLVM_N4vv_native.scalef.f32(native.scalef.f32.4),_ZGV_LLVM_N8vv_native.scalef.f32(native.scalef.f32.8),_ZGV_LLVM_N16vv_native.scalef.f32(native.scalef.f32.16)"
  %v99 = select i1 %v82, float 0x0000000000000000, float %v98
  %v100 = zext nneg i32 %v74 to i64
  %p101 = getelementptr inbounds nuw float, ptr %b1, i64 %v100
  store float %v99, ptr %p101
  br label %loop72.next
loop72.next:
  %v102 = add nsw i32 %x73, 1
  %v103 = icmp slt i32 %v102, 141
  br i1 %v103, label %loop72, label %loop72.end, !llvm.loop !1
loop72.end:
  br label %loop36.next
loop36.next:
  %v104 = add nsw i32 %x37, 1
  %v105 = icmp slt i32 %v104, 33
  br i1 %v105, label %loop36, label %loop36.end
loop36.end:
  br label %loop6.next
loop6.next:
  %v106 = add nsw i32 %x7, 1
  %v107 = icmp slt i32 %v106, %v5
  br i1 %v107, label %loop6, label %loop6.end
loop6.end:
  br label %none
none:
  ret void
}

define void @"kernel_0.arrays"(ptr %a0, ptr %a1, i64 %begin, i64 %end) nounwind {
  %p_a0 = getelementptr i8, ptr %a0, i64 16
  %d_a0 = load ptr, ptr %p_a0
  %p_a1 = getelementptr i8, ptr %a1, i64 16
  %d_a1 = load ptr, ptr %p_a1
  call void @"kernel_0"(ptr %d_a0, ptr %d_a1, i64 %begin, i64 %end)
  ret void
}

define void @"kernel_0.slots"(ptr %values, ptr %slots, i64 %begin, i64 %end) nounwind {
  %p0 = getelementptr i64, ptr %slots, i64 0
  %slot0 = load i64, ptr %p0
  %q0 = getelementptr ptr, ptr %values, i64 %slot0
  %d0 = load ptr, ptr %q0
  %p1 = getelementptr i64, ptr %slots, i64 1
  %slot1 = load i64, ptr %p1
  %q1 = getelementptr ptr, ptr %values, i64 %slot1
  %d1 = load ptr, ptr %q1
  call void @"kernel_0"(ptr %d0, ptr %d1, i64 %begin, i64 %end)
  ret void
}

declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)
declare <4 x float> @llvm.x86.avx512.mask.scalef.ps.128(<4 x float>, <4 x float>, <4 x float>, i8)
declare <8 x float> @llvm.x86.avx512.mask.scalef.ps.256(<8 x float>, <8 x float>, <8 x float>, i8)
declare float @llvm.fmuladd.f32(float, float, float)
define hidden <16 x float> @native.scalef.f32.16(<16 x float> %x, <16 x float> %y) alwaysinline nounwind willreturn memory(none) {
  %all = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %x, <16 x float> %y, <16 x float> zeroinitializer, i16 -1, i32 4)
  ret <16 x float> %all
}
define hidden <4 x float> @native.scalef.f32.4(<4 x float> %x, <4 x float> %y) alwaysinline nounwind willreturn memory(none) {
  %all = call <4 x float> @llvm.x86.avx512.mask.scalef.ps.128(<4 x float> %x, <4 x float> %y, <4 x float> zeroinitializer, i8 -1)
  ret <4 x float> %all
}
define hidden <8 x float> @native.scalef.f32.8(<8 x float> %x, <8 x float> %y) alwaysinline nounwind willreturn memory(none) {
  %all = call <8 x float> @llvm.x86.avx512.mask.scalef.ps.256(<8 x float> %x, <8 x float> %y, <8 x float> zeroinitializer, i8 -1)
  ret <8 x float> %all
}
define weak hidden float @native.scalef.f32(float %x, float %y) nounwind willreturn memory(none) {
  %vx = insertelement <4 x float> splat (float 1.0), float %x, i64 0
  %vy = insertelement <4 x float> splat (float 1.0), float %y, i64 0
  %all = call <4 x float> @native.scalef.f32.4(<4 x float> %vx, <4 x float> %vy)
  %one = extractelement <4 x float> %all, i64 0
  ret float %one
}

attributes #0 = { nounwind willreturn mustprogress nosync noinline "prefer-vector-width"="512" }

!0 = distinct !{!0, !{!"llvm.loop.interleave.count", i32 4}}
!1 = distinct !{!1, !{!"llvm.loop.interleave.count", i32 4}}
