// The transcendental functions, of the device's own library.
C_OWN_MATH
C_HALF1(c_sin) C_HALF1(c_cos) C_HALF1(c_tan) C_HALF1(c_asin) C_HALF1(c_acos) C_HALF1(c_atan) C_HALF1(c_sinh) C_HALF1(c_cosh)
C_HALF1(c_tanh) C_HALF1(c_asinh) C_HALF1(c_acosh) C_HALF1(c_atanh) C_HALF1(c_exp) C_HALF1(c_exp2) C_HALF1(c_log) C_HALF1(c_log2)
C_HALF2(c_atan2) C_HALF2(c_pow)
C_EACH1(c_sin, T) C_EACH1(c_cos, T) C_EACH1(c_tan, T) C_EACH1(c_asin, T) C_EACH1(c_acos, T) C_EACH1(c_atan, T) C_EACH1(c_sinh, T)
C_EACH1(c_cosh, T) C_EACH1(c_tanh, T) C_EACH1(c_asinh, T) C_EACH1(c_acosh, T) C_EACH1(c_atanh, T) C_EACH1(c_exp, T)
C_EACH1(c_exp2, T) C_EACH1(c_log, T) C_EACH1(c_log2, T) C_EACH2(c_atan2, T, T) C_EACH2(c_pow, T, T)
