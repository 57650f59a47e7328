#include "seed_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "gym/common/file.hpp"
#include "gym/torrent/helper_lines.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeedFileBytesMax = 2'048;
constexpr const char* kMagic = "gym-seed-1";
constexpr const char* kSeedSuffix = ".seed";
constexpr const char* kTorrentSuffix = ".torrent";

/// Absent: the file says nothing that can be used.
std::optional<Seed> read_seed(const fs::path& file, const std::string& root) {
    const auto bytes = read_file(file, kSeedFileBytesMax);
    if (!bytes.ok()) return std::nullopt;
    std::istringstream in(std::string(bytes->begin(), bytes->end()));
    std::string magic;
    Seed out{.root = root};
    in >> magic >> out.size_bytes >> out.sent_bytes >> out.seconds >> out.tracker;
    if (!in || magic != kMagic) return std::nullopt;
    return out;
}

fs::file_time_type written(const fs::path& file) {
    std::error_code code;
    const auto time = fs::last_write_time(file, code);
    return code ? fs::file_time_type::min() : time;
}

}  // namespace

Result<SeedFolder> SeedFolder::open(const fs::path& path) {
    std::error_code code;
    fs::create_directories(path, code);
    if (code) return fail(ErrorCode::kIo, path.string() + ": " + code.message());
    GYM_TRY(FileLock lock,
            FileLock::acquire(path / "lock", "gym-torrent, process " + std::to_string(::getpid())));
    SeedFolder out(path, std::move(lock));
    GYM_CHECK(out.read());
    return out;
}

fs::path SeedFolder::torrent_of(const std::string& root) const {
    return path_ / (root + kTorrentSuffix);
}

Status SeedFolder::read() {
    std::map<std::string, std::uint64_t> sizes;
    std::vector<std::pair<fs::file_time_type, Seed>> seeds;
    std::vector<std::string> seen;
    std::error_code code;
    for (fs::directory_iterator file(path_, code), end; !code && file != end;
         file.increment(code)) {
        const std::string name = file->path().filename().string();
        const std::string root = name.substr(0, torrent::kRootDigits);
        if (!torrent::is_root(root)) continue;
        seen.push_back(root);
        std::error_code ignored;
        if (name == root) sizes[root] = fs::file_size(file->path(), ignored);
        if (name == root + kSeedSuffix)
            if (const auto seed = read_seed(file->path(), root))
                seeds.emplace_back(written(path_ / root), *seed);
    }
    if (code) return fail(ErrorCode::kIo, path_.string() + ": " + code.message());
    for (const std::string& root : seen)
        if (!sizes.contains(root)) erase(root);
    std::ranges::sort(seeds, {}, [](const auto& seed) { return seed.first; });
    for (const auto& [when, seed] : seeds)
        if (sizes.erase(seed.root) > 0) content_.seeds.push_back(seed);
    content_.rest.assign(sizes.begin(), sizes.end());
    return {};
}

Status SeedFolder::save(const Seed& seed) const {
    std::ostringstream out;
    out << kMagic << ' ' << seed.size_bytes << ' ' << seed.sent_bytes << ' ' << seed.seconds << ' '
        << seed.tracker << '\n';
    return write_file_atomic(path_ / (seed.root + kSeedSuffix), as_bytes(out.str()), 0600);
}

void SeedFolder::erase(const std::string& root) const {
    std::error_code ignored;
    for (const char* suffix : {kSeedSuffix, kTorrentSuffix, ""})
        fs::remove(path_ / (root + suffix), ignored);
}

}  // namespace gym::app
