# The element types of the C++ templates in the kernels: float16 and bool as one-byte or two-byte structs that convert to and from what can be computed with.
#
# Why of our own: neither C++17 nor every compiler has a 16-bit float, and a bool that comes from foreign memory may hold another byte than 0 and 1.
# float16 is computed with as float32 and rounded to nearest even once, as torch does. Conversions: F. Giesen, "Half to float done quick" and
# "Float to half, fast" (public domain, 2012 and 2013), without branches so that loops over them vectorise.

from libc.stdint cimport uint16_t

cdef extern from * nogil:
    """
    #ifndef CYGRAD_HALF
    #define CYGRAD_HALF
    #include <stdint.h>
    #include <string.h>
    static inline float cg_half_to_float(uint16_t h) {
        uint32_t bits = (uint32_t)(h & 0x7fff) << 13, exponent = bits & 0x0f800000u, magic_bits = 113u << 23, tiny;
        float f, magic;
        bits += 112u << 23;
        bits += exponent == 0x0f800000u ? 112u << 23 : 0;          /* infinity, NaN */
        tiny = bits + (1u << 23);                                   /* subnormal: let the float unit normalise it */
        memcpy(&f, &tiny, 4);
        memcpy(&magic, &magic_bits, 4);
        f -= magic;
        memcpy(&tiny, &f, 4);
        bits = exponent == 0 ? tiny : bits;
        bits |= (uint32_t)(h & 0x8000) << 16;
        memcpy(&f, &bits, 4);
        return f;
    }
    static inline uint16_t cg_float_to_half(float f) {
        uint32_t bits, sign, subnormal, normal, special;
        float g;
        memcpy(&bits, &f, 4);
        sign = (bits >> 16) & 0x8000u;
        bits &= 0x7fffffffu;
        memcpy(&g, &bits, 4);
        g += 0.5f;                                                  /* aligns the ten bits at the bottom, rounding to even */
        memcpy(&subnormal, &g, 4);
        subnormal -= 0x3f000000u;
        normal = (bits + ((bits >> 13) & 1u) + 0xfffu - (112u << 23)) >> 13;
        special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
        return (uint16_t)(sign | (bits >= 0x47800000u ? special : bits < 0x38800000u ? subnormal : normal));
    }
    #ifdef __cplusplus
    namespace cygrad {
        struct Half {
            uint16_t bits;
            Half() = default;
            Half(float f) : bits(cg_float_to_half(f)) {}
            operator float() const { return cg_half_to_float(bits); }
        };
        struct Bool {
            uint8_t byte;
            Bool() = default;
            Bool(bool b) : byte(b) {}
            operator bool() const { return byte != 0; }
        };
    }
    #endif
    #endif
    """
    float half_to_float "cg_half_to_float"(uint16_t h) noexcept
    uint16_t float_to_half "cg_float_to_half"(float f) noexcept
