#include "gym/node/kept_bases.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/common/file.hpp"

namespace gym::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "GYMBASE1";
constexpr std::string_view kSuffix = ".bases";

fs::file_time_type written(const fs::path& file) {
    std::error_code code;
    const auto time = fs::last_write_time(file, code);
    return code ? fs::file_time_type::min() : time;
}

}  // namespace

std::vector<KeptBases::Kept> KeptBases::read(const fs::path& file) {
    // A file that does not decode keeps nothing: the next base state is fetched.
    std::vector<Kept> out;
    const auto bytes = read_file(file, 4096);
    if (!bytes.ok()) return out;
    commit::Decoder in(*bytes);
    const auto magic = in.raw(kMagic.size());
    if (!magic.ok() || !std::ranges::equal(*magic, as_bytes(kMagic))) return out;
    const auto count = in.count(kRoundsMax);
    for (std::uint32_t i = 0; count.ok() && i < *count; ++i) {
        const auto round = in.u64();
        const auto blob = in.digest();
        if (!round.ok() || !blob.ok()) return out;
        out.push_back({*round, *blob});
    }
    return out;
}

std::vector<fs::path> KeptBases::files() const {
    std::vector<fs::path> out;
    std::error_code code;
    for (fs::directory_iterator file(folder_, code), end; !code && file != end;
         file.increment(code))
        if (file->path().extension() == kSuffix) out.push_back(file->path());
    return out;
}

bool KeptBases::holds(const Digest& blob) const {
    return std::ranges::any_of(files(), [&](const fs::path& file) {
        return std::ranges::any_of(read(file), [&](const Kept& kept) { return kept.blob == blob; });
    });
}

Result<std::vector<Digest>> KeptBases::keep(const Digest& job_id, std::uint64_t round,
                                            const Digest& blob) {
    std::error_code code;
    fs::create_directories(folder_, code);
    if (code) return fail(ErrorCode::kIo, folder_.string() + ": " + code.message());
    const fs::path file = folder_ / (to_hex(job_id.view()) + std::string(kSuffix));
    std::vector<Kept> kept = read(file);
    const auto known = std::ranges::find(kept, round, &Kept::round);
    if (known != kept.end() && known->blob == blob) return std::vector<Digest>();
    if (known != kept.end()) kept.erase(known);
    kept.push_back({round, blob});
    std::ranges::sort(kept, std::ranges::greater{}, &Kept::round);
    std::vector<Digest> released;
    while (kept.size() > kRoundsMax) {
        released.push_back(kept.back().blob);
        kept.pop_back();
    }
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).u32(static_cast<std::uint32_t>(kept.size()));
    for (const Kept& base : kept)
        out.u64(base.round).fixed(base.blob);
    GYM_CHECK(write_file_atomic(file, out.take(), 0600));
    std::ranges::copy(forget_other_jobs(file), std::back_inserter(released));
    // A round without deltas has the base state of the one before.
    std::erase_if(released, [&](const Digest& gone) { return holds(gone); });
    return released;
}

std::vector<Digest> KeptBases::forget_other_jobs(const fs::path& newest) const {
    std::vector<std::pair<fs::file_time_type, fs::path>> others;
    for (const fs::path& file : files())
        if (file != newest) others.emplace_back(written(file), file);
    std::ranges::sort(others, std::ranges::greater{});
    std::vector<Digest> released;
    for (std::size_t i = kJobsMax - 1; i < others.size(); ++i) {
        for (const Kept& kept : read(others[i].second))
            released.push_back(kept.blob);
        std::error_code ignored;
        fs::remove(others[i].second, ignored);
    }
    return released;
}

}  // namespace gym::node
