// Compressed deltas, nanoseconds a parameter on one thread: encoding with a residual (both passes,
// with clipping), strict decoding, and sums. Peers, from the same run: the scalar level of the same
// encoder; for sums the addition of an f32 delta into f32 sums, the least that an uncompressed
// network does.
//
// Rows: codec/encode_sparse, codec/encode_dense, codec/encode_dense_stateless, codec/decode_sparse,
// codec/decode_dense, codec/sum_sparse, codec/sum_dense (a delta).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/codec/dense_code.hpp"
#include "gym/codec/encode.hpp"
#include "gym/codec/sparse_code.hpp"

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

void encoders(const bench::Options& options, const std::vector<float>& x) {
    const Comparison comparison(options);
    const auto run = [&x](codec::Form form, const codec::Residual* residual, std::uint64_t bound,
                          kernels::Isa isa) {
        if (codec::encode(form, kTensor, x, bound, residual, isa).code.empty()) give_up("no code");
    };
    for (const codec::Form form : {codec::Form::kSparse, codec::Form::kDense}) {
        const std::string name = form == codec::Form::kSparse ? "encode_sparse" : "encode_dense";
        codec::Residual residual = codec::Residual::zero(kCount);
        codec::Encoding encoding = codec::encode(form, kTensor, x, codec::kNoBound, &residual);
        residual = std::move(*encoding.residual);
        const std::uint64_t bound = encoding.squared_norm / 2;
        comparison.row(name, "the same on the scalar level", "with residual, clipped",
                       {[&] { run(form, &residual, bound, options.isa); },
                        [&] { run(form, &residual, bound, kernels::Isa::kScalar); }});
    }
    comparison.row(
        "encode_dense_stateless", "the same on the scalar level", "codec 1",
        {[&] { run(codec::Form::kDense, nullptr, codec::kNoBound, options.isa); },
         [&] { run(codec::Form::kDense, nullptr, codec::kNoBound, kernels::Isa::kScalar); }});
}

void decoders(const bench::Options& options, const std::vector<float>& x) {
    const Comparison comparison(options);
    const Bytes sparse =
        codec::encode(codec::Form::kSparse, kTensor, x, codec::kNoBound, nullptr).code;
    const Bytes dense =
        codec::encode(codec::Form::kDense, kTensor, x, codec::kNoBound, nullptr).code;
    std::vector<std::int64_t> sums(kCount);
    std::vector<float> float_sums(kCount);
    const auto add_floats = [&] {
        for (std::size_t i = 0; i < kCount; ++i)
            float_sums[i] += x[i];
    };
    const auto sparse_code = must(codec::SparseCode::decode(kTensor, sparse));
    const auto dense_code = must(codec::DenseCode::decode(kTensor, dense));
    const std::string peer = "adding an f32 delta to f32 sums, a plain loop";
    comparison.row("decode_sparse", peer, "all checks",
                   {[&] { must(codec::SparseCode::decode(kTensor, sparse)); }, add_floats});
    comparison.row("decode_dense", peer, "all checks",
                   {[&] { must(codec::DenseCode::decode(kTensor, dense)); }, add_floats});
    comparison.row("sum_sparse", peer, "i64 sums, of checked bytes",
                   {[&] { sparse_code.add_to(sums, 2); }, add_floats});
    comparison.row("sum_dense", peer, "i64 sums, of checked bytes",
                   {[&] { dense_code.add_to(sums, 2, 0, options.isa); }, add_floats});
    if (sums[0] == 1 && float_sums[0] == 1) give_up("the sums are wrong");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const std::vector<float> x = some_delta();
    encoders(options, x);
    decoders(options, x);
    return 0;
}
