#include "gym/profile/store.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"

namespace gym::profile {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kFolder = "networks";
constexpr const char* kDefaultFile = "default";  // no network's: those end with .json
constexpr const char* kSuffix = ".json";
constexpr unsigned kPrivate = 0600;
constexpr std::uint64_t kFileBytesMax = 2 * kProfileBytesMax;

fs::path file_in(const fs::path& folder, const std::string& name) {
    return folder / (name + kSuffix);
}

Status make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) fs::permissions(folder, fs::perms::owner_all, error);
    if (error)
        return fail(ErrorCode::kIo, "cannot make " + folder.string() + ": " + error.message() +
                                        "; choose another place (--data-dir, or set GYM_HOME)");
    return {};
}

Status remove_file(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    if (error)
        return fail(ErrorCode::kIo, "cannot remove " + path.string() + ": " + error.message());
    return {};
}

std::string to_text(const StoredNetwork& network) {
    const json::object out{{"url", network.url},
                           {"chain_rpc", network.chain_rpc},
                           {"updated_at_ms", network.updated_at_ms},
                           {"profile", json::parse(to_json(network.signed_profile))}};
    return json::serialize(out) + "\n";
}

Result<StoredNetwork> parse_stored(const std::string& name, std::string_view text) {
    StoredNetwork out;
    out.name = name;
    try {
        const json::value value = json::parse({text.data(), text.size()});
        if (!value.is_object()) return fail(ErrorCode::kMalformed, "no JSON object");
        const json::object& object = value.get_object();
        out.url = json_fields::text_of(object, "url");
        out.chain_rpc = json_fields::text_of(object, "chain_rpc");
        out.updated_at_ms = json_fields::number_of<UnixMs>(object, "updated_at_ms");
        GYM_TRY(out.signed_profile,
                parse_profile(json::serialize(json_fields::member_of(object, "profile"))));
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, error.what());
    }
    const auto& known = out.profile().chain_rpc;
    if (std::ranges::find(known, out.chain_rpc) == known.end())
        return fail(ErrorCode::kMalformed, "its chain_rpc is not one of its profile's");
    return out;
}

std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "" : ", ") + name;
    return out;
}

}  // namespace

Status check_name(std::string_view name) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    };
    if (!name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, plain) &&
        name.front() != '.' && name.front() != '-')
        return {};
    return fail(ErrorCode::kInvalidArgument,
                "a network's name has 1 to 64 letters, digits, '.', '_' and '-', and begins with a "
                "letter, a digit or '_'");
}

Store::Store(std::vector<fs::path> data_dirs) {
    folders_.reserve(data_dirs.size());
    for (const fs::path& data_dir : data_dirs) {
        fs::path folder = data_dir / kFolder;
        if (std::ranges::find(folders_, folder) == folders_.end())
            folders_.push_back(std::move(folder));
    }
}

Result<StoredNetwork> Store::find(const std::string& name) const {
    GYM_CHECK(check_name(name));
    for (const fs::path& folder : folders_) {
        const fs::path path = file_in(folder, name);
        const auto content = read_file(path, kFileBytesMax);
        if (!content.ok() && content.error().code == ErrorCode::kNotFound) continue;
        if (!content.ok()) return content.error();
        auto network =
            parse_stored(name, {reinterpret_cast<const char*>(content->data()), content->size()});
        if (network.ok()) return network;
        Error error = network.error().in(path.string());
        error.message += "; `gym network remove " + name + "` and `gym network add` repair it";
        return error;
    }
    const std::vector<std::string> known = names();
    return fail(ErrorCode::kNotFound,
                "there is no network '" + name + "': " +
                    (known.empty()
                         ? "`gym network add NAME URL` adds one"
                         : (known.size() == 1 ? "there is only " : "there are ") + listed(known)));
}

std::vector<std::string> Store::names() const {
    std::set<std::string> out;
    for (const fs::path& folder : folders_) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(folder, error)) {
            const std::string name = entry.path().stem().string();
            if (entry.path().extension() == kSuffix && check_name(name).ok()) out.insert(name);
            if (out.size() == kNetworksMax) break;
        }
    }
    return {out.begin(), out.end()};
}

Result<std::optional<std::string>> Store::default_name() const {
    for (const fs::path& folder : folders_) {
        const auto content = read_file(folder / kDefaultFile, kNameBytesMax + 1);
        if (!content.ok() && content.error().code == ErrorCode::kNotFound) continue;
        if (!content.ok()) return content.error();
        std::string name(content->begin(), content->end());
        while (!name.empty() && name.back() == '\n')
            name.pop_back();
        const Status named = check_name(name);
        if (!named.ok())
            return fail(ErrorCode::kMalformed, (folder / kDefaultFile).string() + ": " +
                                                   named.error().message +
                                                   "; `gym network use NAME` repairs it");
        return std::optional(std::move(name));
    }
    return std::optional<std::string>();
}

Result<std::optional<StoredNetwork>> Store::find_default() const {
    GYM_TRY(const auto name, default_name());
    if (!name) return std::optional<StoredNetwork>();
    auto network = find(*name);
    if (!network.ok()) return network.error().in("the default network");
    return std::optional(*std::move(network));
}

Status Store::save(const StoredNetwork& network) const {
    GYM_CHECK(check_name(network.name));
    GYM_CHECK(make_folder(folders_.front()));
    return write_file_atomic(file_in(folders_.front(), network.name), as_bytes(to_text(network)),
                             kPrivate);
}

Status Store::set_default(const std::string& name) const {
    GYM_CHECK(find(name));
    GYM_CHECK(make_folder(folders_.front()));
    return write_file_atomic(folders_.front() / kDefaultFile, as_bytes(name + "\n"), kPrivate);
}

Status Store::remove(const std::string& name) const {
    GYM_CHECK(check_name(name));
    const fs::path path = file_in(folders_.front(), name);
    std::error_code error;
    if (!fs::exists(path, error))
        return fail(ErrorCode::kNotFound,
                    "there is no network '" + name + "' in " + folders_.front().string());
    const auto chosen = default_name();
    if (chosen.ok() && *chosen == name) GYM_CHECK(remove_file(folders_.front() / kDefaultFile));
    return remove_file(path);
}

}  // namespace gym::profile
