// MB/s of encoding with GPT-2's ranks on one core, a line a call, against npm's gpt-tokenizer and
// @huggingface/tokenizers in the same run on the same lines.
//
// Rows: tokenizer/gpt2_encode/TEXT/PEER. Texts: english (King James Bible, WordNet's definitions),
// mixed (the usual lines of tests/support/tokenizer_corpus.hpp: 40 languages, English, code,
// emoji).
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "tokenizer_corpus.hpp"

namespace {

using namespace gym;
using gym::bench::must;
namespace fs = std::filesystem;

constexpr std::size_t kEnglishBytes = 4'000'000;
constexpr std::size_t kMixedBytes = 2'000'000;
constexpr int kPeerMsMax = 600'000;
constexpr double kTargetMegabytesPerSecond = 20;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

std::string mixed_text() {
    testing::TokenizerCorpus corpus(1);
    std::string out;
    while (out.size() < kMixedBytes)
        out += corpus.next_usual_line() + "\n";
    return out;
}

struct Measured {
    double seconds = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t tokens = 0;
};

Measured ours(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& lines) {
    Measured out;
    const double start = bench::seconds_now();
    for (const std::string& line : lines)
        out.tokens += must(tokenizer.encode(line)).size();
    out.seconds = bench::seconds_now() - start;
    return out;
}

/// The median of the peer's repeats in one process, the first of which warms it up.
Measured peer(const fs::path& script, const std::string& name, const std::string& what,
              const fs::path& text, int repeats) {
    const std::string said = must(run_command(
        {.argv = {"node", script, "bench", name, what, text, std::to_string(repeats + 1)},
         .env = {},
         .log_file = {},
         .folder = {}},
        kPeerMsMax));
    std::istringstream stream(said);
    std::vector<double> seconds;
    Measured out;
    for (double value = 0; stream >> value >> out.tokens;)
        seconds.push_back(value);
    if (seconds.size() > 1) out.seconds = bench::median({seconds.begin() + 1, seconds.end()});
    return out;
}

void measure(const bench::Options& options, const tokenizer::Tokenizer& tokenizer,
             const fs::path& folder, const fs::path& script, const std::string& name,
             const std::string& text) {
    must(write_file_atomic(folder / "text", as_bytes(text)));
    const auto lines = lines_of(text);
    const double megabytes = static_cast<double>(text.size()) * 1e-6;
    std::vector<double> seconds;
    std::uint64_t tokens = 0;
    for (int i = 0; i <= options.repeats; ++i) {
        const Measured once = ours(tokenizer, lines);
        tokens = once.tokens;
        if (i > 0) seconds.push_back(once.seconds);
    }
    const double our_rate = megabytes / bench::median(seconds);
    for (const auto& [peer_name, what] :
         {std::pair<std::string, std::string>{"gpt-tokenizer", "r50k_base"},
          {"huggingface", folder.string()}}) {
        const Measured theirs = peer(script, peer_name, what, folder / "text", options.repeats);
        if (theirs.tokens != tokens) {
            std::fprintf(stderr, "%s: %llu tokens, ours %llu\n", peer_name.c_str(),
                         static_cast<unsigned long long>(theirs.tokens),
                         static_cast<unsigned long long>(tokens));
            std::exit(1);
        }
        const double rate = megabytes / theirs.seconds;
        bench::report(options,
                      {.name = "tokenizer/gpt2_encode/" + name + "/" + peer_name,
                       .ours = our_rate,
                       .peer = rate,
                       .ratio = our_rate / rate,
                       .unit = "MB/s",
                       .threads = 1,
                       .isa = std::string(isa_name(options.isa)),
                       .peer_name = peer_name == "huggingface" ? "npm @huggingface/tokenizers 0.2.0"
                                                               : "npm gpt-tokenizer 4.0.0",
                       .note = our_rate < kTargetMegabytesPerSecond ? "below the target of 20 MB/s"
                                                                    : "target 20 MB/s"});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const fs::path peers = fs::path(GYM_BENCH_SOURCE_DIR) / "tests/integration/tokenizer";
    const auto tokenizer = must(
        tokenizer::Tokenizer::load(peers / "node_modules/gpt-tokenizer/data/r50k_base.tiktoken"));
    const auto folder = must(TemporaryFolder::create("gym-tokenizer-bench"));
    for (const auto& file : tokenizer.files())
        must(write_file_atomic(folder / file.name, file.bytes));
    if (options.wants("english"))
        measure(options, tokenizer, folder.path(), peers / "peers.mjs", "english",
                testing::english_text(kEnglishBytes));
    if (options.wants("mixed"))
        measure(options, tokenizer, folder.path(), peers / "peers.mjs", "mixed", mixed_text());
    return 0;
}
