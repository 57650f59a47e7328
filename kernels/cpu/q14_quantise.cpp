// Quantising with vector instructions: compiled for AVX2 and for AVX-512 (multiversion.hpp).
#include "cpu/lanes.hpp"
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

// Panels quantised together along columns, so that whole cache lines of the source are used.
constexpr int kColumnGroup = 4;
// Rows that a pass along columns is behind its prefetches: each is on a page of its own, where the
// hardware's own prefetching ends.
constexpr int64_t kRowsAhead = 16;

struct BlockScale {
    Ints exponent;
    Floats scale;  // 2^(13 - exponent)
    Ints keep;     // zero where the vector is poisoned
};

/// Exponents and scales of sixteen vectors from the largest magnitude bits of each.
GYM_LANES BlockScale block_scale(const Q14Source& source, Ints amax) {
    BlockScale result;
    if (source.fixed) {
        const int32_t limit =
            static_cast<int32_t>(magnitude_bits(f32::scale2(1.0f, source.fixed_exponent)));
        const int32_t largest_finite = static_cast<int32_t>(f32::kInfinityBits) - 1;
        const Ints bad = greater(amax, splat(limit < largest_finite ? limit : largest_finite));
        result.exponent = select(bad, splat(kExponentPoisoned), splat(source.fixed_exponent));
    } else {
        const Ints bad = greater(amax, splat(static_cast<int32_t>(f32::kInfinityBits) - 1));
        const Ints exponent = max(shift_right<23>(amax) - splat(126), splat(kExponentMin));
        result.exponent = select(bad, splat(kExponentPoisoned), exponent);
    }
    result.keep = greater(splat(kExponentPoisoned), result.exponent);
    result.scale = floats(shift_left<23>(splat(kQ14FractionBits + 127) - result.exponent));
    return result;
}

GYM_LANES Ints magnitude(Floats x) {
    return bits(x) & splat(0x7FFFFFFF);
}

struct Panel {
    int16_t* q;
    int32_t* exponents;
    uint32_t* energies;
};

GYM_LANES Panel panel_of(const Q14Operand& out, int64_t index) {
    return {out.q + index * out.pairs * kQ14PanelRow, out.exponents + index * kQ14Panel,
            out.energies + index};
}

/// Collects a panel's energy in one block.
struct Energy {
    Ints group = splat(0), largest_yet = splat(0);

    GYM_LANES_MEMBER void add(Ints pair) {
        // 64 * 2^27 / 8 = 2^30: no overflow.
        group = group + shift_right<3>(square_pairs(pair));
    }
    /// The same for eight pairs of one group.
    GYM_LANES_MEMBER void add_eight(const Ints* pairs) {
        // 8 * 2^27 = 2^30: no overflow here either.
        const Ints first = square_pairs(pairs[0]) + square_pairs(pairs[1]) +
                           (square_pairs(pairs[2]) + square_pairs(pairs[3]));
        const Ints second = square_pairs(pairs[4]) + square_pairs(pairs[5]) +
                            (square_pairs(pairs[6]) + square_pairs(pairs[7]));
        group = group + shift_right<3>(first + second);
    }
    GYM_LANES_MEMBER void end_group() {
        largest_yet = max(largest_yet, group);
        group = splat(0);
    }
    /// Each shift dropped less than one.
    GYM_LANES_MEMBER uint32_t value() {
        end_group();
        return static_cast<uint32_t>(largest(largest_yet)) + kQ14GroupPairs;
    }
};

/// Elements of a block, counted from its beginning; `begin` is a multiple of a tile's rows.
struct Range {
    int64_t begin;
    int64_t end;
};

GYM_LANES Range range_of_block(Q14Elements used, int64_t block_begin, int64_t length) {
    const int64_t size = q14_block_end(block_begin, length) - block_begin;
    const int64_t begin = used.begin - block_begin, end = used.end - block_begin;
    const Range range{begin < 0 ? 0 : begin, end < size ? end : size};
    return range.begin < range.end ? range : Range{0, 0};
}

/// Rows of the source that make a panel, from the beginning of a block.
struct SourceRows {
    const float* x;
    int64_t stride;
    int64_t count;
};

/// The largest magnitude bits of each row.
GYM_LANES Ints row_magnitudes(SourceRows rows, Range elements) {
    Ints amax[kQ14Panel];
    for (int64_t r = 0; r < kQ14Panel; ++r) {
        Ints largest_yet = splat(0);
        if (r < rows.count) {
            const float* row = rows.x + r * rows.stride;
            int64_t k = elements.begin;
            for (; k + 16 <= elements.end; k += 16) {
                largest_yet = max(largest_yet, magnitude(load(row + k)));
                prefetch(row + k + kQ14Panel * rows.stride);  // the next panel's
            }
            if (k < elements.end)
                largest_yet = max(largest_yet, magnitude(load_first(row + k, elements.end - k)));
        }
        amax[r] = largest_yet;
    }
    transpose(amax);
    unrolled<15>([&](auto i)
                     __attribute__((always_inline)) { amax[0] = max(amax[0], amax[i.value + 1]); });
    return amax[0];
}

/// Sixteen pairs of sixteen rows from element k on; pair i is in vector packed_position(i).
/// `Whole`: there are as many elements and rows.
template <bool Whole>
GYM_LANES void quantise_pairs(SourceRows rows, int64_t k, int64_t rest, const float* factors,
                              Ints keep, Ints pairs[kQ14Panel]) {
    unrolled<kQ14Panel>([&](auto r) __attribute__((always_inline)) {
        if (!Whole && r.value >= rows.count) {
            pairs[r.value] = splat(0);
            return;
        }
        const float* p = rows.x + r.value * rows.stride + k;
        const Floats low = Whole ? load(p) : load_first(p, rest);
        const Floats high = Whole ? load(p + 16) : load_first(p + 16, rest - 16);
        const Floats factor = splat(factors[r.value]);
        pairs[r.value] = pack(round(low * factor), round(high * factor));
    });
    transpose(pairs);
    unrolled<kQ14Panel>([&](auto i) __attribute__((always_inline)) {
        pairs[i.value] = pairs[i.value] & keep;
    });
}

/// One block of one panel.
GYM_LANES Ints quantise_row_block(const Q14Source& source, SourceRows rows, Range elements,
                                  int16_t* q, uint32_t* energy_out) {
    const int64_t length = elements.end;
    const BlockScale scale = block_scale(source, row_magnitudes(rows, elements));
    alignas(64) float factors[kQ14Panel];
    store(factors, scale.scale);
    const int64_t all_pairs = (length + 1) / 2;
    Energy energy;
    for (int64_t k = elements.begin; k < length; k += 32) {
        const int64_t first = k / 2, rest = length - k;
        if (first % kQ14GroupPairs == 0) energy.end_group();
        Ints pairs[kQ14Panel];
        if (rows.count == kQ14Panel && rest >= 32) {
            quantise_pairs<true>(rows, k, rest, factors, scale.keep, pairs);
        } else {
            quantise_pairs<false>(rows, k, rest, factors, scale.keep, pairs);
        }
        const int64_t count = first + 16 < all_pairs ? 16 : all_pairs - first;
        int16_t* to = q + first * kQ14PanelRow;
        unrolled<kQ14Panel>([&](auto i) __attribute__((always_inline)) {
            if (i.value < count)
                store(to + i.value * kQ14PanelRow, pairs[packed_position(i.value)]);
        });
        energy.add_eight(pairs);
        energy.add_eight(pairs + 8);
    }
    *energy_out = energy.value();
    return scale.exponent;
}

/// One block of `Group` neighbouring panels: columns of the source from x on. `columns` may end
/// inside the last panel.
template <int Group>
GYM_LANES void quantise_column_block(const Q14Source& source, const float* x, int64_t columns,
                                     Range elements, const Panel panel[Group], int64_t pair_offset,
                                     Ints exponent[Group], Energy energy[Group]) {
    const int64_t length = elements.end;
    const auto read = [&](int64_t k, int g) __attribute__((always_inline)) {
        const float* p = x + k * source.row_stride + g * kQ14Panel;
        return Group > 1 ? load(p) : load_first(p, columns);
    };
    Ints amax[Group];
    for (int g = 0; g < Group; ++g)
        amax[g] = splat(0);
    for (int64_t k = elements.begin; k < length; ++k) {
        for (int g = 0; g < Group; ++g) {
            amax[g] = max(amax[g], magnitude(read(k, g)));
            prefetch(x + (k + kRowsAhead) * source.row_stride + g * kQ14Panel);
        }
    }
    BlockScale scale[Group];
    for (int g = 0; g < Group; ++g) {
        scale[g] = block_scale(source, amax[g]);
        exponent[g] = scale[g].exponent;
    }
    const Ints low_half = splat(0xFFFF);
    for (int64_t k = elements.begin; k < length; k += 2) {
        for (int g = 0; g < Group; ++g) {
            const Ints even = round(read(k, g) * scale[g].scale);
            const Ints odd = k + 1 < length ? round(read(k + 1, g) * scale[g].scale) : splat(0);
            const Ints pair = ((even & low_half) | shift_left<16>(odd)) & scale[g].keep;
            store(panel[g].q + (pair_offset + k / 2) * kQ14PanelRow, pair);
            energy[g].add(pair);
            if (k / 2 % kQ14GroupPairs == kQ14GroupPairs - 1) energy[g].end_group();
        }
    }
}

template <int Group>
GYM_LANES void quantise_column_group(const Q14Source& source, const Q14Operand& out,
                                     int64_t first_panel) {
    Panel panel[Group];
    Ints maximum[Group];
    for (int g = 0; g < Group; ++g) {
        panel[g] = panel_of(out, first_panel + g);
        maximum[g] = splat(kExponentMin);
    }
    const int64_t column = first_panel * kQ14Panel;
    const Q14Elements used{q14_elements(source.zeros, first_panel, out.length).begin,
                           q14_elements(source.zeros, first_panel + Group - 1, out.length).end};
    for (int64_t block = 0; block < out.blocks; ++block) {
        const int64_t begin = block * kQ14BlockLength;
        const Range elements = range_of_block(used, begin, out.length);
        Ints exponent[Group];
        Energy energy[Group];
        quantise_column_block<Group>(source, source.data + begin * source.row_stride + column,
                                     out.vectors - column, elements, panel, begin / 2, exponent,
                                     energy);
        for (int g = 0; g < Group; ++g) {
            panel[g].energies[block * out.padded_vectors / kQ14Panel] = energy[g].value();
            store(panel[g].exponents + block * out.padded_vectors, exponent[g]);
            maximum[g] = max(maximum[g], exponent[g]);
        }
    }
    for (int g = 0; g < Group; ++g) {
        store(panel[g].exponents + out.blocks * out.padded_vectors, maximum[g]);
    }
}

}  // namespace

void q14_quantise_rows(const Q14Source& source, const Q14Operand& out, int64_t begin, int64_t end) {
    const int64_t panels = out.padded_vectors / kQ14Panel;
    for (int64_t index = begin; index < end; ++index) {
        const Panel panel = panel_of(out, index);
        const int64_t first_row = index * kQ14Panel;
        const int64_t left = out.vectors - first_row;
        Ints maximum = splat(kExponentMin);
        const Q14Elements used = q14_elements(source.zeros, index, out.length);
        for (int64_t block = 0; block < out.blocks; ++block) {
            const int64_t k = block * kQ14BlockLength;
            const Range elements = range_of_block(used, k, out.length);
            const Ints exponent = quantise_row_block(
                source,
                {source.data + first_row * source.row_stride + k, source.row_stride,
                 left < kQ14Panel ? left : kQ14Panel},
                elements, panel.q + k / 2 * kQ14PanelRow, panel.energies + block * panels);
            store(panel.exponents + block * out.padded_vectors, exponent);
            maximum = max(maximum, exponent);
        }
        store(panel.exponents + out.blocks * out.padded_vectors, maximum);
    }
}

void q14_quantise_columns(const Q14Source& source, const Q14Operand& out, int64_t begin,
                          int64_t end) {
    int64_t index = begin;
    while (index < end) {
        const bool whole_group =
            index + kColumnGroup <= end && (index + kColumnGroup) * kQ14Panel <= out.vectors;
        if (whole_group) {
            quantise_column_group<kColumnGroup>(source, out, index);
        } else {
            quantise_column_group<1>(source, out, index);
        }
        index += whole_group ? kColumnGroup : 1;
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
