// The Q14 product, with quantising and packing both operands and rescaling the result, against f32
// matrix products: libtorch's (on the BLAS that it is linked with) and oneDNN's.
//
// Rows: q14_gemm/SHAPE against libtorch, q14_gemm/SHAPE/fastest against the faster of the two, and
// q14_gemm/SHAPE/bf16 against oneDNN's product of bf16 operands, which are converted beforehand.
#include <torch/torch.h>

#include <dnnl.hpp>
#include <optional>
#include <random>

#include "bench_support.hpp"
#include "gym/kernels/q14_product.hpp"
#include "provenance.hpp"

namespace {

using namespace gym;
using namespace gym::kernels;

struct Shape {
    std::string name;
    int64_t m, n, k;
};

/// Squares, then the products of a step of a GPT with d = 384 on 2,048 tokens: forward, gradient of
/// the input (same shapes, exchanged), gradient of the weight (sums over the tokens).
std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const int64_t n : {256, 512, 1024, 2048, 4096})
        all.push_back({"n=" + std::to_string(n), n, n, n});
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{2048, 1152, 384},
                                  {2048, 384, 384},
                                  {2048, 1536, 384},
                                  {2048, 384, 1536},
                                  {1536, 384, 2048},
                                  {2048, 256, 384},
                                  {256, 256, 64}}) {
        all.push_back(
            {std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n), m, n, k});
    }
    return all;
}

/// c (m, n) = a (m, k) * b (n, k)^T three times.
class Products {
  public:
    Products(const Shape& shape, Isa isa, int threads)
        : shape_(shape),
          context_(isa, threads),
          a_(torch::randn({shape.m, shape.k})),
          b_(torch::randn({shape.n, shape.k})),
          c_(torch::empty({shape.m, shape.n})),
          a_bf16_(a_.to(torch::kBFloat16)),
          b_bf16_(b_.to(torch::kBFloat16)) {}

    void ours() {
        const Along rows = Along::kRows;
        quantise(context_, {a_.data_ptr<float>(), shape_.m, shape_.k, shape_.k}, rows, qa_);
        quantise(context_, {b_.data_ptr<float>(), shape_.n, shape_.k, shape_.k}, rows, qb_);
        q14_product(context_, qa_, qb_, {c_.data_ptr<float>(), shape_.n});
    }
    void libtorch() {
        const torch::NoGradGuard guard;
        torch::mm_out(c_, a_, b_.t());
    }
    void onednn() { execute(f32_, a_, b_); }
    void onednn_bf16() { execute(bf16_, a_bf16_, b_bf16_); }

  private:
    using Tag = dnnl::memory::format_tag;
    using Type = dnnl::memory::data_type;

    /// A oneDNN product of operands of one type into f32, made at its first use: oneDNN refuses
    /// bf16 where it has no kernel for it.
    struct Product {
        Type type;
        std::optional<dnnl::matmul> matmul;
    };
    static dnnl::memory::desc desc(int64_t rows, int64_t columns, Type type, Tag tag) {
        return {{rows, columns}, type, tag};
    }
    void execute(Product& product, const torch::Tensor& left, const torch::Tensor& right) {
        const auto a_desc = desc(shape_.m, shape_.k, product.type, Tag::ab);
        const auto b_desc = desc(shape_.k, shape_.n, product.type, Tag::ba);
        const auto c_desc = desc(shape_.m, shape_.n, Type::f32, Tag::ab);
        if (!product.matmul)
            product.matmul.emplace(
                dnnl::matmul::primitive_desc(dnnl::matmul::desc(a_desc, b_desc, c_desc), engine_));
        const dnnl::memory a(a_desc, engine_, left.data_ptr());
        const dnnl::memory b(b_desc, engine_, right.data_ptr());
        const dnnl::memory c(c_desc, engine_, c_.data_ptr());
        product.matmul->execute(stream_,
                                {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        stream_.wait();
    }

    Shape shape_;
    Context context_;
    QuantisedMatrix qa_, qb_;
    torch::Tensor a_, b_, c_;
    torch::Tensor a_bf16_, b_bf16_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    Product f32_{Type::f32, std::nullopt};
    Product bf16_{Type::bf16, std::nullopt};
};

void run(const bench::Options& options, const Shape& shape, int threads) {
    torch::set_num_threads(threads);
    bench::set_peer_threads(threads);
    Products products(shape, options.isa, threads);
    std::vector<std::function<void()>> calls{[&] { products.ours(); }, [&] { products.libtorch(); },
                                             [&] { products.onednn(); }};
    const bool with_bf16 = bench::cpu_has_bf16() && options.isa >= Isa::kAvx512;
    if (with_bf16) calls.emplace_back([&] { products.onednn_bf16(); });
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    const double flop = 2e-9 * static_cast<double>(shape.m * shape.n * shape.k);
    bench::Row row{.name = "q14_gemm/" + shape.name,
                   .ours = flop / seconds[0],
                   .peer = flop / seconds[1],
                   .ratio = seconds[1] / seconds[0],
                   .unit = "GFLOP/s",
                   .threads = threads,
                   .isa = std::string(isa_name(options.isa)),
                   .peer_name = "libtorch mm, f32, " + options.blas(),
                   .note = ""};
    bench::report(options, row);
    const bool torch_wins = seconds[1] < seconds[2];
    const double fastest = std::min(seconds[1], seconds[2]);
    row.name += "/fastest";
    row.peer = flop / fastest;
    row.ratio = fastest / seconds[0];
    if (!torch_wins) row.peer_name = "oneDNN matmul, f32";
    bench::report(options, row);
    if (!with_bf16) return;
    row.name = "q14_gemm/" + shape.name + "/bf16";
    row.peer = flop / seconds[3];
    row.ratio = seconds[3] / seconds[0];
    row.peer_name = "oneDNN matmul, bf16 operands converted before, f32 result";
    bench::report(options, row);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    for (const int threads : options.threads) {
        for (const Shape& shape : shapes()) {
            if (options.wants(shape.name)) run(options, shape, threads);
        }
    }
    return 0;
}
