// The error function in single precision as arithmetic that vectorises: erfc(z) = exp(-z**2) * scaled_erfc(z), where the exponential comes from NumPy's
// loop over a block ("Note [Chains]" in loops.hpp).
//
// Why of our own: the C library's erff is one call an element. Both polynomials are Chebyshev fits to the functions in 30 digits; the largest relative
// error of erf, erfc and their combination here is 6e-7. The change of variable is that of J. Schonfelder, Math. Comp. 32 (1978) 1232.
#pragma once

namespace cygrad {

constexpr float ERFC_END = 10.5f;       // exp(-z**2) is 0 in single precision from here on

static inline float scaled_erfc(float z) {      // 0 <= z <= ERFC_END
    const float t = (z - 2.5f) / (z + 2.5f), u = t * t;
    // even and odd powers apart: two short chains of dependent operations instead of a long one
    const float even = 0.21080636413497028f + u * (0.25171317815851874f + u * (0.03992292745403245f + u * (-0.0026455076252278518f +
                       u * (0.00023774253952560853f + u * -4.08987699730835e-05f))));
    const float odd = -0.37173673606830343f + u * (-0.12503300210171006f + u * (-0.003993819233243344f + u * (0.0008736882774507908f +
                      u * -0.00011632469924997286f)));
    return even + t * odd;
}
// |x|, at most ERFC_END; NaN stays
static inline float erfc_argument(float x) {
    const float z = x < 0 ? -x : x;
    return z > ERFC_END ? ERFC_END : z;
}
// erfc(z) from e = exp(-(z * z)), whose argument was rounded: the rounding matters in the tail
static inline float erfc_from_exp(float e, float z) {
    const float square = z * z;
    return e * (1 - (float)((double)z * z - square)) * scaled_erfc(z);
}
static inline float small_erf(float x) {        // |x| <= 1
    const float u = x * x;
    return x * (1.1283791658483509f + u * (-0.37612626666720334f + u * (0.11283594715160218f + u * (-0.026854212010626412f + u * (0.005189087423433974f +
           u * (-0.000801686428716587f + u * 7.875875062685488e-05f))))));
}

}  // namespace cygrad
