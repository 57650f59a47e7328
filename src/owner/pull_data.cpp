#include "gym/owner/pull_data.hpp"

#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>
#include <system_error>

#include "gym/blob/dataset_header.hpp"
#include "gym/common/file.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/document_separator.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/remote.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kManifestBytesMax = std::uint64_t{1} << 36;

/// The sentence in gym-api's problem answer; of another answer all of it.
std::string reason_of(const Error& refused) {
    const std::string& text = refused.message;
    const auto at = text.find('{');
    if (at == std::string::npos) return text;
    boost::system::error_code error;
    const boost::json::value problem = boost::json::parse(text.substr(at), error);
    if (error || !problem.is_object()) return text;
    const boost::json::value* detail = problem.get_object().if_contains("detail");
    if (detail == nullptr || !detail->is_string()) return text;
    return std::string(detail->get_string());
}

Status download(const DataPull& pull, const std::string& part, std::uint64_t bytes_max,
                const fs::path& to) {
    data::RemoteOptions options;
    options.bearer = pull.key;
    options.bytes_max = bytes_max;
    options.stopped = pull.stopped;
    std::string base = pull.api;
    while (base.ends_with('/'))
        base.pop_back();
    data::Remote remote(std::move(options));
    const Status fetched =
        remote.download({.name = "dataset " + pull.root.hex(),
                         .path = {},
                         .url = base + "/v1/datasets/" + pull.root.hex() + "/" + part},
                        to);
    if (!fetched.ok() && fetched.error().code == ErrorCode::kPermissionDenied)
        return fail(ErrorCode::kPermissionDenied,
                    "gym-api does not give the " + part + " of dataset " + pull.root.hex() +
                        " to your key: " + reason_of(fetched.error()));
    if (fetched.ok() || fetched.error().code != ErrorCode::kUnauthenticated) return fetched;
    return fail(ErrorCode::kUnauthenticated,
                "gym-api gives the " + part + " of dataset " + pull.root.hex() +
                    " only to a key that may read them: name yours with --api-key-file or "
                    "GYM_API_KEY");
}

/// The root is in the name, so that what is left of another dataset is not continued.
fs::path copy_of(const DataPull& pull, const fs::path& output) {
    return output.string() + "." + pull.root.hex().substr(2, 8);
}

Status keep(const fs::path& copy, const fs::path& output) {
    std::error_code error;
    fs::rename(copy, output, error);
    if (!error) return {};
    return fail(ErrorCode::kIo, "cannot write " + output.string() + ": " + error.message());
}

Error other(const fs::path& copy, const std::string& what, const Digest& expected,
            const std::string& found) {
    std::error_code error;
    fs::remove(copy, error);
    return fail(ErrorCode::kMismatch,
                "gym-api sent " + what + " than that of " + expected.hex() + ": " + found);
}

Result<data::Manifest> pull_manifest(const DataPull& pull) {
    const fs::path output = data::manifest_path(pull.output), copy = copy_of(pull, output);
    GYM_CHECK(download(pull, "manifest", kManifestBytesMax, copy));
    const auto read =
        data::read_manifest(copy, [](const data::ManifestDocument&) { return Status(); });
    if (!read.ok()) return other(copy, "another manifest", *pull.manifest, read.error().message);
    if (read->root != *pull.manifest || read->end.dataset_root != pull.root)
        return other(copy, "another manifest", *pull.manifest, "its root is " + read->root.hex());
    GYM_CHECK(keep(copy, output));
    return read;
}

/// The files may not have been given: then there are none.
Status pull_tokenizer(const DataPull& pull) {
    const fs::path output = tokenizer::bundle_path(pull.output), copy = copy_of(pull, output);
    const Status fetched = download(pull, "tokenizer", tokenizer::kBundleBytesMax, copy);
    if (!fetched.ok() && fetched.error().code == ErrorCode::kNotFound) return {};
    GYM_CHECK(fetched);
    const auto bundle = tokenizer::load_bundle(copy);
    if (!bundle.ok())
        return other(copy, "another tokenizer", *pull.tokenizer, bundle.error().message);
    if (bundle->root != *pull.tokenizer)
        return other(copy, "another tokenizer", *pull.tokenizer,
                     "its root is " + bundle->root.hex());
    return keep(copy, output);
}

}  // namespace

Result<std::uint32_t> registered_separator(DataPull pull) {
    if (!pull.manifest)
        return fail(ErrorCode::kNotFound,
                    "the owner of dataset " + pull.root.hex() +
                        " gave no manifest, which would say what stands between documents");
    GYM_TRY(const TemporaryFolder folder, TemporaryFolder::create("gym-manifest"));
    pull.output = folder / "dataset";
    GYM_TRY(const data::Manifest manifest, pull_manifest(pull));
    return data::separator_of(manifest.head);
}

Result<blob::DatasetSummary> pull_data(const DataPull& pull) {
    GYM_TRY(const std::uint64_t bytes_max, blob::dataset_bytes_max(pull.tokens, pull.vocabulary));
    GYM_CHECK(check_writable(pull.output));
    GYM_CHECK(check_free_space(pull.output, bytes_max));
    const fs::path copy = copy_of(pull, pull.output);
    GYM_CHECK(download(pull, "tokens", bytes_max, copy));
    auto summary = blob::scan_dataset(copy);
    if (!summary.ok()) return other(copy, "other tokens", pull.root, summary.error().message);
    if (summary->root != pull.root)
        return other(copy, "other tokens", pull.root, "their root is " + summary->root.hex());
    // Before the tokens, whose presence says that all is there.
    if (pull.manifest) {
        GYM_TRY([[maybe_unused]] const auto manifest, pull_manifest(pull));
    }
    if (pull.tokenizer) GYM_CHECK(pull_tokenizer(pull));
    GYM_CHECK(keep(copy, pull.output));
    return summary;
}

}  // namespace gym::owner
