// Compressed deltas, nanoseconds a parameter on one thread. Codec 1: a tensor's rows encoded, and
// checked and decoded. Codec 2: encoding with a residual (both passes, with clipping), strict
// decoding, and sums. Peers, from the same run: for codec 1 a copy of the f32 elements; for codec 2
// the scalar level of the same encoder, and for what is decoded the addition of an f32 delta into
// f32 sums, the least that an uncompressed network does.
//
// Rows: codec/encode_sparse, codec/decode_sparse, codec/sum_sparse (a delta), codec/encode_dense,
// codec/decode_dense.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/codec/encode.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/codec/sparse_code.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/float_environment.hpp"

namespace {

using namespace gym;
using gym::bench::give_up;
using gym::bench::must;

constexpr std::size_t kCount = std::size_t{1} << 22;
constexpr codec::TensorGrid kTensor{kCount, -20};

std::vector<float> some_delta() {
    std::mt19937_64 random(20261125);
    std::student_t_distribution<float> deviation(4);
    std::vector<float> x(kCount);
    for (float& value : x)
        value = 1e-3F * deviation(random);
    return x;
}

class Comparison {
  public:
    explicit Comparison(const bench::Options& options) : options_(options) {}
    void row(const std::string& name, const std::string& peer, const std::string& note,
             const std::vector<std::function<void()>>& calls) const {
        if (!options_.wants(name)) return;
        const auto seconds = bench::interleaved_seconds(calls, options_.repeats);
        bench::report(options_, {.name = "codec/" + name,
                                 .ours = seconds[0] / kCount * 1e9,
                                 .peer = seconds[1] / kCount * 1e9,
                                 .ratio = seconds[1] / seconds[0],
                                 .unit = "ns/parameter",
                                 .threads = 1,
                                 .isa = std::string(isa_name(options_.isa)),
                                 .peer_name = peer,
                                 .note = note});
    }

  private:
    const bench::Options& options_;
};

void sparse_encoder(const bench::Options& options, const std::vector<float>& x) {
    codec::Residual residual = codec::Residual::zero(kCount);
    codec::Encoding encoding = codec::encode(kTensor, x, codec::kNoBound, &residual);
    residual = std::move(*encoding.residual);
    const std::uint64_t bound = encoding.squared_norm / 2;
    const auto run = [&](kernels::Isa isa) {
        if (codec::encode(kTensor, x, bound, &residual, isa).code.empty()) give_up("no code");
    };
    Comparison(options).row("encode_sparse", "the same on the scalar level",
                            "with residual, clipped",
                            {[&] { run(options.isa); }, [&] { run(kernels::Isa::kScalar); }});
}

void sparse_decoders(const bench::Options& options, const std::vector<float>& x) {
    const Comparison comparison(options);
    const Bytes sparse = codec::encode(kTensor, x, codec::kNoBound, nullptr).code;
    std::vector<std::int64_t> sums(kCount);
    std::vector<float> float_sums(kCount);
    const auto add_floats = [&] {
        for (std::size_t i = 0; i < kCount; ++i)
            float_sums[i] += x[i];
    };
    const auto code = must(codec::SparseCode::decode(kTensor, sparse));
    const std::string peer = "adding an f32 delta to f32 sums, a plain loop";
    comparison.row("decode_sparse", peer, "all checks",
                   {[&] { must(codec::SparseCode::decode(kTensor, sparse)); }, add_floats});
    comparison.row("sum_sparse", peer, "i64 sums, of checked bytes",
                   {[&] { code.add_to(sums, 2); }, add_floats});
    if (sums[0] == 1 && float_sums[0] == 1) give_up("the sums are wrong");
}

/// A tensor's rows; `x` is its end and `begin` its beginning.
void encode_rows(kernels::Isa isa, const float* x, const float* begin, Bytes& rows) {
    for (std::uint64_t i = 0; i < kCount; i += codec::kRowElements)
        kernels::encode_dense_row(isa, x + i, begin + i, kernels::kRowElements,
                                  rows.data() + codec::row_begin(i / codec::kRowElements));
}

void decode_rows(kernels::Isa isa, const Bytes& rows, std::vector<float>& x) {
    for (std::uint64_t i = 0; i < kCount; i += codec::kRowElements) {
        const std::uint8_t* const row = rows.data() + codec::row_begin(i / codec::kRowElements);
        if (!kernels::is_dense_row(isa, row, kernels::kRowElements)) give_up("not a row");
        kernels::decode_dense_row(isa, row, kernels::kRowElements, x.data() + i);
    }
}

void dense_rows(const bench::Options& options, const std::vector<float>& x) {
    const kernels::ExactFloatEnvironment environment;
    const Comparison comparison(options);
    const std::vector<float> begin(kCount);
    std::vector<float> to(kCount);
    Bytes rows(codec::row_begin(codec::rows_of(kCount)));
    encode_rows(options.isa, x.data(), begin.data(), rows);
    const auto copy = [&] { std::copy(x.begin(), x.end(), to.begin()); };
    const std::string peer = "a copy of the f32 elements";
    comparison.row("encode_dense", peer, "rows of end - begin",
                   {[&] { encode_rows(options.isa, x.data(), begin.data(), rows); }, copy});
    comparison.row("decode_dense", peer, "rows, all checks",
                   {[&] { decode_rows(options.isa, rows, to); }, copy});
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const std::vector<float> x = some_delta();
    sparse_encoder(options, x);
    sparse_decoders(options, x);
    dense_rows(options, x);
    return 0;
}
