#include "gym/data/input.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "parquet_reader.hpp"
#include "record_readers.hpp"

namespace gym::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kTextEndings{".txt", ".text", ".md"};
constexpr std::array<std::string_view, 3> kJsonEndings{".jsonl", ".ndjson", ".json"};

std::string_view without_compression(std::string_view name) {
    for (const std::string_view ending : {".gz", ".zst"})
        if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
    return name;
}

template <std::size_t N>
bool ends_with_one(std::string_view name, const std::array<std::string_view, N>& endings) {
    return std::ranges::any_of(endings, [&](std::string_view e) { return name.ends_with(e); });
}

bool is_known(std::string_view name) {
    name = without_compression(name);
    return name.ends_with(".parquet") || ends_with_one(name, kTextEndings) ||
           ends_with_one(name, kJsonEndings);
}

Result<Input> local_input(const fs::path& path, std::string name, const ReaderOptions& options) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    "cannot open " + path.string() + ": " + std::strerror(errno));
    Input out{.name = std::move(name),
              .path = path,
              .size_bytes = static_cast<std::uint64_t>(info.st_size),
              .version =
                  std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec)};
    GYM_TRY(out.format, format_of(out.name, options));
    return out;
}

}  // namespace

Format format_of(const std::string& name) {
    const std::string_view plain = without_compression(name);
    if (plain.ends_with(".parquet")) return Format::kParquet;
    return ends_with_one(plain, kJsonEndings) ? Format::kJsonLines : Format::kText;
}

Result<Format> format_of(const std::string& name, const ReaderOptions& options) {
    if (options.format == "auto") return format_of(name);
    if (options.format == "text") return Format::kText;
    if (options.format == "jsonl") return Format::kJsonLines;
    if (options.format == "parquet") return Format::kParquet;
    return fail(ErrorCode::kInvalidArgument,
                "unknown format '" + options.format + "'; expected auto, text, jsonl or parquet");
}

Result<std::vector<Input>> expand_local(const fs::path& path, const ReaderOptions& options) {
    std::vector<Input> out;
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        GYM_TRY(Input input, local_input(path, path.filename().string(), options));
        out.push_back(std::move(input));
        return out;
    }
    const auto refuse = [&] {
        return fail(ErrorCode::kIo,
                    "cannot read the folder " + path.string() + ": " + error.message());
    };
    std::vector<std::string> names;
    fs::recursive_directory_iterator at(path, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        const bool hidden = at->path().filename().string().starts_with('.');
        if (at->is_directory(error)) {
            if (hidden) at.disable_recursion_pending();
        } else if (!hidden && at->is_regular_file(error) &&
                   is_known(at->path().filename().string())) {
            names.push_back(at->path().lexically_relative(path).string());
            if (names.size() > kInputsMax)
                return fail(ErrorCode::kOutOfRange, path.string() + " has more than " +
                                                        std::to_string(kInputsMax) +
                                                        " files: join some of them");
        }
    }
    if (error) return refuse();
    if (names.empty())
        return fail(ErrorCode::kInvalidArgument,
                    path.string() +
                        " holds no text (.txt, .text, .md), JSON lines (.jsonl, .ndjson, .json) "
                        "or Parquet file");
    std::ranges::sort(names);
    out.reserve(names.size());
    for (const std::string& name : names) {
        GYM_TRY(Input input, local_input(path / name, name, options));
        out.push_back(std::move(input));
    }
    return out;
}

Result<std::unique_ptr<RecordReader>> open_records(const Input& input, const fs::path& path,
                                                   const ReaderOptions& options) {
    if (input.format == Format::kParquet) return open_parquet(path);
    GYM_TRY(auto bytes, open_bytes(path));
    if (input.format == Format::kJsonLines) return json_lines(std::move(bytes));
    switch (options.text_unit) {
        case TextUnit::kFile:
            return whole_text(std::move(bytes));
        case TextUnit::kBlankLines:
            return text_paragraphs(std::move(bytes));
        case TextUnit::kLine:
            return text_lines(std::move(bytes));
    }
    return fail(ErrorCode::kInternal, "unknown kind of text");
}

}  // namespace gym::data
