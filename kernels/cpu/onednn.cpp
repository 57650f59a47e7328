#include "cpu/onednn.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cpu/check.hpp"
#include "cpu/q14_digits.hpp"
#include "gym/kernels/q14.h"

#if defined(GYM_KERNELS_ONEDNN)
#include <dnnl.hpp>
#endif

namespace gym::kernels {

#if defined(GYM_KERNELS_ONEDNN)

bool onednn_available() {
    return true;
}

bool onednn_set_isa_max(Isa isa) {
    const auto level = [isa] {
        switch (isa) {
            case Isa::kScalar:
                return dnnl::cpu_isa::sse41;  // its lowest; scalar contexts never call it
            case Isa::kAvx2:
                return dnnl::cpu_isa::avx2;
            case Isa::kAvx512:
                return dnnl::cpu_isa::avx512_core_vnni;
            case Isa::kAmx:
                return dnnl::cpu_isa::avx512_core_amx;
        }
        return dnnl::cpu_isa::sse41;
    }();
    return dnnl::set_max_cpu_isa(level) == dnnl::status::success;
}

namespace {

/// oneDNN runs on OpenMP threads; the number is a setting of the calling thread. Looked up at run
/// time, so that a oneDNN built on another runtime still links.
void limit_threads(int threads) {
    using SetThreads = void (*)(int);
    static const auto set_threads =
        reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set_threads != nullptr) set_threads(threads);
}

struct Shape {
    int64_t rows;
    int64_t columns;
    int64_t length;
    auto operator<=>(const Shape&) const = default;
};

/// int8 products c (rows, columns) = a (rows, length) * b (columns, length)^T in i32, one primitive
/// a shape. One object a thread: primitives and streams are used by one thread at a time.
class Int8Product {
  public:
    void run(Shape shape, const int8_t* a, const int8_t* b, int32_t* c) {
        const Primitive& entry = find(shape);
        dnnl::memory source(entry.a, engine_, const_cast<int8_t*>(a));
        dnnl::memory weights(entry.b, engine_, const_cast<int8_t*>(b));
        dnnl::memory result(entry.c, engine_, c);
        entry.matmul.execute(
            stream_, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}});
        stream_.wait();
    }

  private:
    struct Primitive {
        dnnl::memory::desc a, b, c;
        dnnl::matmul matmul;
    };

    const Primitive& find(Shape shape) {
        // A training step uses a few dozen shapes; the bound only keeps odd callers from growing
        // it.
        constexpr size_t kPrimitivesMax = 256;
        if (const auto found = cache_.find(shape); found != cache_.end()) return found->second;
        if (cache_.size() >= kPrimitivesMax) cache_.clear();
        using Type = dnnl::memory::data_type;
        using Tag = dnnl::memory::format_tag;
        const dnnl::memory::desc a({shape.rows, shape.length}, Type::s8, Tag::ab);
        const dnnl::memory::desc b({shape.length, shape.columns}, Type::s8, Tag::ba);
        const dnnl::memory::desc c({shape.rows, shape.columns}, Type::s32, Tag::ab);
        const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), engine_);
        return cache_.emplace(shape, Primitive{a, b, c, dnnl::matmul(description)}).first->second;
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    std::map<Shape, Primitive> cache_;
};

struct DigitStorage {
    std::vector<int8_t> high, low, sum;

    Q14Digits reserve(int64_t count) {
        const auto size = static_cast<size_t>(count);
        for (std::vector<int8_t>* part : {&high, &low, &sum}) {
            if (part->size() < size) part->resize(size);
        }
        return {high.data(), low.data(), sum.data()};
    }
};

struct Workspace {
    Int8Product product;
    DigitStorage a;
    std::vector<DigitStorage> b;  // one a block
    std::array<std::vector<int32_t>, 4> result;
    std::vector<int64_t> totals;
};

/// Rows of `a` in one piece: bounds the workspace.
constexpr int64_t kRowsMax = 512;
static_assert(kRowsMax % kQ14Panel == 0);

/// Rows that a thread takes at a time, whole panels.
constexpr int64_t kRowsPerGrain = 2 * kQ14Panel;

/// The digit products of one block. Sums of digits use all of int8, and without VNNI oneDNN adds
/// pairs of products in i16, which such operands saturate; single digits stay within [-64, 64] and
/// cannot.
Q14DigitProducts multiply_digits(Workspace& work, Shape shape, const Q14Digits& a,
                                 const Q14Digits& b, bool karatsuba) {
    const auto size = static_cast<size_t>(shape.rows * shape.columns);
    for (std::vector<int32_t>& part : work.result)
        part.resize(std::max(part.size(), size));
    auto& [high_high, low_low, mixed, other] = work.result;
    work.product.run(shape, a.high, b.high, high_high.data());
    work.product.run(shape, a.low, b.low, low_low.data());
    if (karatsuba) {
        work.product.run(shape, a.sum, b.sum, mixed.data());
    } else {
        work.product.run(shape, a.high, b.low, mixed.data());
        work.product.run(shape, a.low, b.high, other.data());
        for (size_t i = 0; i < size; ++i)
            mixed[i] += other[i];
    }
    return {high_high.data(), low_low.data(), mixed.data(), karatsuba};
}

/// Calls work({block, first, count}) for parts of `range`, over the threads.
template <typename Work>
void share_rows(ThreadPool& pool, Q14BlockRange range, const Work& work) {
    pool.parallel_for(range.count, kRowsPerGrain, [&](LoopChunk chunk) {
        work(Q14BlockRange{range.block, range.first_vector + chunk.begin, chunk.end - chunk.begin},
             chunk.begin);
    });
}

Q14Digits unpack(ThreadPool& pool, Isa isa, const Q14Operand& operand, Q14BlockRange range,
                 DigitStorage& storage) {
    const int64_t begin = range.block * kQ14BlockLength;
    const int64_t length = q14_block_end(begin, operand.length) - begin;
    const Q14Digits digits = storage.reserve(range.count * length);
    share_rows(pool, range, [&](Q14BlockRange part, int64_t row) {
        const int64_t at = row * length;
        GYM_SELECT_KERNEL(isa, q14_unpack_digits)
        (operand, part, {digits.high + at, digits.low + at, digits.sum + at});
    });
    return digits;
}

}  // namespace

void onednn_q14_product(ThreadPool& pool, const Q14Operand& a, const Q14Operand& b, float* out,
                        int64_t out_stride) {
    const Isa isa = process_isa_max();
    limit_threads(pool.threads());
    static thread_local Workspace work;
    if (work.b.size() < static_cast<size_t>(b.blocks)) work.b.resize(static_cast<size_t>(b.blocks));
    std::vector<Q14Digits> b_digits;
    for (int64_t block = 0; block < b.blocks; ++block)
        b_digits.push_back(
            unpack(pool, isa, b, {block, 0, b.vectors}, work.b[static_cast<size_t>(block)]));
    for (int64_t first = 0; first < a.vectors; first += kRowsMax) {
        const int64_t rows = std::min(kRowsMax, a.vectors - first);
        work.totals.assign(static_cast<size_t>(rows * b.vectors), 0);
        int64_t* totals = work.totals.data();  // not of another thread's workspace
        for (int64_t block = 0; block < a.blocks; ++block) {
            const Q14BlockRange range{block, first, rows};
            const int64_t begin = block * kQ14BlockLength;
            const int64_t length = q14_block_end(begin, a.length) - begin;
            const Q14Digits a_digits = unpack(pool, isa, a, range, work.a);
            const Q14DigitProducts products =
                multiply_digits(work, {rows, b.vectors, length}, a_digits,
                                b_digits[static_cast<size_t>(block)], isa >= Isa::kAvx512);
            share_rows(pool, range, [&](Q14BlockRange part, int64_t row) {
                const int64_t at = row * b.vectors;
                const Q14DigitProducts own{products.high_high + at, products.low_low + at,
                                           products.mixed + at, products.karatsuba};
                GYM_SELECT_KERNEL(isa, q14_add_products)(a, b, part, own, totals + at);
            });
        }
        share_rows(pool, {0, first, rows}, [&](Q14BlockRange part, int64_t row) {
            GYM_SELECT_KERNEL(isa, q14_finish_totals)
            (a, b, part, totals + row * b.vectors, out, out_stride);
        });
    }
}

#else

bool onednn_available() {
    return false;
}
bool onednn_set_isa_max(Isa) {
    return true;
}
void onednn_q14_product(ThreadPool&, const Q14Operand&, const Q14Operand&, float*, int64_t) {
    GYM_KERNELS_REQUIRE(onednn_available());
}

#endif

}  // namespace gym::kernels
