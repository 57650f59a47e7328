// The Q14 product, with quantising and packing both operands and rescaling the result, against f32
// matrix products: libtorch's (on the BLAS that it is linked with) and oneDNN's.
//
// Rows: q14_gemm/SHAPE against libtorch, q14_gemm/SHAPE/fastest against the faster of the two.
#include <torch/torch.h>

#include <dnnl.hpp>
#include <random>

#include "bench_support.hpp"
#include "gym/kernels/q14_product.hpp"

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
          matmul_(dnnl::matmul::primitive_desc(
              dnnl::matmul::desc(desc(shape.m, shape.k, Tag::ab), desc(shape.k, shape.n, Tag::ba),
                                 desc(shape.m, shape.n, Tag::ab)),
              engine_)) {}

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
    void onednn() {
        const dnnl::memory a(desc(shape_.m, shape_.k, Tag::ab), engine_, a_.data_ptr<float>());
        const dnnl::memory b(desc(shape_.k, shape_.n, Tag::ba), engine_, b_.data_ptr<float>());
        const dnnl::memory c(desc(shape_.m, shape_.n, Tag::ab), engine_, c_.data_ptr<float>());
        matmul_.execute(stream_, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        stream_.wait();
    }

  private:
    using Tag = dnnl::memory::format_tag;
    static dnnl::memory::desc desc(int64_t rows, int64_t columns, Tag tag) {
        return {{rows, columns}, dnnl::memory::data_type::f32, tag};
    }

    Shape shape_;
    Context context_;
    QuantisedMatrix qa_, qb_;
    torch::Tensor a_, b_, c_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::matmul matmul_;
};

void run(const bench::Options& options, const Shape& shape, int threads) {
    torch::set_num_threads(threads);
    bench::set_peer_threads(threads);
    Products products(shape, options.isa, threads);
    const std::vector<std::function<void()>> calls{
        [&] { products.ours(); }, [&] { products.libtorch(); }, [&] { products.onednn(); }};
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
