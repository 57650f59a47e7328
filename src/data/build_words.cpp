#include "gym/data/build_words.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/licence/licence.hpp"

namespace gym::data {
namespace {

constexpr std::uint64_t kOptOutBytesMax = std::uint64_t{1} << 28;
constexpr std::uint32_t kPadToMax = 65536;  // the longest context of a model

Result<TextUnit> text_unit_of(const std::string& word) {
    if (word == "file") return TextUnit::kFile;
    if (word == "blank-lines") return TextUnit::kBlankLines;
    if (word == "lines") return TextUnit::kLine;
    return fail(ErrorCode::kInvalidArgument,
                "documents: expected file, blank-lines or lines, not '" + word + "'");
}

/// "1G", "512M", with the suffixes K, M, G, T.
Result<std::uint64_t> bytes_of(const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, value);
    const std::string suffix(after, end);
    constexpr std::string_view kSuffixes = "KMGT";
    const std::size_t power = suffix.size() == 1 ? kSuffixes.find(suffix[0]) : 0;
    const unsigned shift = suffix.empty() ? 0 : static_cast<unsigned>(10 * (power + 1));
    if (error != std::errc{} || suffix.size() > 1 || power == std::string_view::npos ||
        value == 0 || value > (std::uint64_t{1} << 46) >> shift)
        return fail(ErrorCode::kInvalidArgument,
                    "index memory: expected a size like 512M or 2G, not '" + text + "'");
    return value << shift;
}

/// Names of a file, one a line, and the file's hash.
Status read_opt_outs(const std::string& path, Consent& consent) {
    if (path.empty()) return {};
    GYM_TRY(const Bytes file, read_file(path, kOptOutBytesMax));
    consent.opt_out_list = commit::sha256(file);
    std::istringstream lines(std::string(file.begin(), file.end()));
    for (std::string line; std::getline(lines, line);) {
        while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
            line.pop_back();
        if (!line.empty() && line[0] != '#') consent.opted_out.insert(line);
    }
    return {};
}

Result<std::string> licence_of(const char* option, const std::string& text) {
    auto licence = licence::canonical(text);
    if (!licence.ok()) return licence.error().in(option);
    return licence;
}

Result<std::optional<PaddedRows>> rows_of(const BuildWords& words) {
    if (words.pad_to == 0 && !words.padding_token) return std::optional<PaddedRows>();
    if (words.pad_to == 0 || !words.padding_token)
        return fail(ErrorCode::kInvalidArgument,
                    "padded rows need both: pad to so many tokens (pad-to), and which token is the "
                    "padding (padding-token)");
    if (words.pad_to < 2 || words.pad_to > kPadToMax)
        return fail(ErrorCode::kInvalidArgument,
                    "pad-to must be 2 to " + std::to_string(kPadToMax) + " tokens");
    return std::optional(PaddedRows{words.pad_to, *words.padding_token});
}

}  // namespace

Result<BuildOptions> build_options(const BuildWords& words) {
    BuildOptions out;
    out.inputs = words.inputs;
    out.output = words.output;
    out.reader.format = words.format;
    GYM_TRY(out.reader.text_unit, text_unit_of(words.documents));
    if (!words.text_key.empty()) out.reader.keys.text = {words.text_key};
    if (!words.licence_key.empty()) out.reader.keys.licence = {words.licence_key};
    out.remote = RemoteOptions::from_environment();
    if (!words.s3_endpoint.empty()) out.remote.s3_endpoint = words.s3_endpoint;
    GYM_TRY(out.steps.steps, parse_steps(words.steps));
    out.steps.languages = {words.languages.begin(), words.languages.end()};
    out.steps.seed = words.seed;
    if (!words.licence.empty()) {
        GYM_TRY(out.steps.consent.default_licence, licence_of("licence", words.licence));
    }
    for (const std::string& one : words.licences) {
        GYM_TRY(std::string licence, licence_of("licences", one));
        out.steps.consent.licences.insert(std::move(licence));
    }
    GYM_CHECK(read_opt_outs(words.opt_out_file, out.steps.consent));
    out.skip_malformed = words.skip_malformed;
    GYM_TRY(out.rows, rows_of(words));
    if (words.context > 0) out.window_tokens = std::uint64_t{words.context} + 1;
    out.threads = words.threads > 0
                      ? words.threads
                      : std::clamp(std::thread::hardware_concurrency(), 1U, kThreadsMax);
    GYM_TRY(out.index_bytes_max, bytes_of(words.index_memory));
    return out;
}

}  // namespace gym::data
