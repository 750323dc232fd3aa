;; Computes dot products of vectors of 8-bit integers with one query of 16-bit integers, eight pairs at a time.
;; `dimensions` is a multiple of 16. The sums must fit into 32 bits.
(module
  (memory (export "memory") 1)
  (func (export "dots")
    (param $vectors i32) (param $count i32) (param $dimensions i32) (param $query i32) (param $sums i32)
    (local $at i32) (local $end i32) (local $with i32) (local $numbers v128) (local $low v128) (local $high v128)
    (local.set $at (local.get $vectors))
    (block $done
      (loop $each_vector
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $with (local.get $query))
        (local.set $end (i32.add (local.get $at) (local.get $dimensions)))
        (local.set $low (v128.const i64x2 0 0))
        (local.set $high (v128.const i64x2 0 0))
        (loop $each_sixteen
          (local.set $numbers (v128.load (local.get $at)))
          (local.set $low (i32x4.add (local.get $low)
            (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_s (local.get $numbers)) (v128.load (local.get $with)))))
          (local.set $high (i32x4.add (local.get $high)
            (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_s (local.get $numbers)) (v128.load offset=16 (local.get $with)))))
          (local.set $with (i32.add (local.get $with) (i32.const 32)))
          (br_if $each_sixteen
            (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
        (local.set $low (i32x4.add (local.get $low) (local.get $high)))
        (i32.store (local.get $sums)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
            (i32.add (i32x4.extract_lane 2 (local.get $low)) (i32x4.extract_lane 3 (local.get $low)))))
        (local.set $sums (i32.add (local.get $sums) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $each_vector)))))
