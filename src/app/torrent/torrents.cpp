#include "torrents.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <libtorrent/add_torrent_params.hpp>
#include <libtorrent/alert_types.hpp>
#include <libtorrent/ip_filter.hpp>
#include <libtorrent/peer_class.hpp>
#include <libtorrent/posix_disk_io.hpp>
#include <libtorrent/session.hpp>
#include <libtorrent/session_params.hpp>
#include <libtorrent/torrent_handle.hpp>
#include <libtorrent/torrent_info.hpp>
#include <libtorrent/torrent_status.hpp>
#include <map>
#include <utility>

namespace gym::app {
namespace {

namespace lt = libtorrent;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kListenMax{10};
constexpr int kAlertsMax = 20'000;
constexpr int kMinAnnounceSeconds = 30;
/// The end of the program waits so long for trackers to take the news.
constexpr int kStopTrackerSeconds = 2;
constexpr std::size_t kDigitBits = 4;

lt::settings_pack settings_of(const TorrentsOptions& options) {
    using Pack = lt::settings_pack;
    Pack out;
    const bool v6 = options.address.find(':') != std::string::npos;
    out.set_str(Pack::listen_interfaces, (v6 ? "[" + options.address + "]" : options.address) +
                                             ":" + std::to_string(options.port));
    out.set_int(Pack::max_retry_port_bind, 0);
    out.set_bool(Pack::listen_system_port_fallback, false);
    out.set_str(Pack::user_agent, "gym");
    out.set_str(Pack::handshake_client_version, "");
    out.set_int(Pack::alert_mask, lt::alert_category::error | lt::alert_category::status |
                                      lt::alert_category::piece_progress |
                                      lt::alert_category::peer);
    out.set_int(Pack::alert_queue_size, kAlertsMax);
    // Nobody but the tracker learns of this node from it.
    for (const int off :
         {Pack::enable_dht, Pack::enable_lsd, Pack::enable_upnp, Pack::enable_natpmp,
          Pack::enable_outgoing_utp, Pack::enable_incoming_utp, Pack::rate_limit_ip_overhead})
        out.set_bool(off, false);
    out.set_bool(Pack::no_connect_privileged_ports, true);
    // Several nodes may be behind one address.
    out.set_bool(Pack::allow_multiple_connections_per_ip, true);
    out.set_int(Pack::in_enc_policy, Pack::pe_disabled);
    out.set_int(Pack::out_enc_policy, Pack::pe_disabled);
    out.set_int(Pack::connections_limit, static_cast<int>(options.connections_max));
    out.set_int(Pack::upload_rate_limit, static_cast<int>(options.upload_bytes_per_s_max));
    out.set_int(Pack::stop_tracker_timeout, kStopTrackerSeconds);
    out.set_int(Pack::min_announce_interval, kMinAnnounceSeconds);
    return out;
}

/// Every address: by default the library's bounds leave out those of the local network.
lt::ip_filter all_in(lt::peer_class_t peer_class) {
    lt::ip_filter out;
    const auto bit = std::uint32_t{1} << static_cast<std::uint32_t>(peer_class);
    out.add_rule(lt::make_address("0.0.0.0"), lt::make_address("255.255.255.255"), bit);
    out.add_rule(lt::make_address("::"),
                 lt::make_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), bit);
    return out;
}

class Session final : public Torrents {
  public:
    explicit Session(const TorrentsOptions& options)
        : folder_(options.folder), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        lt::session_params params(settings_of(options));
        // The default maps files into memory: a full disk would end the process.
        params.disk_io_constructor = lt::posix_disk_io_constructor;
        session_ = std::make_unique<lt::session>(std::move(params));
        session_->set_peer_class_filter(all_in(lt::session::global_peer_class_id));
        session_->set_alert_notify([fd = wake_] {
            const std::uint64_t one = 1;
            static_cast<void>(::write(fd, &one, sizeof one) == sizeof one);
        });
    }
    ~Session() override {
        session_->set_alert_notify([] {});
        session_.reset();
        ::close(wake_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Status listen();
    [[nodiscard]] std::uint16_t port() const override { return session_->listen_port(); }
    [[nodiscard]] int wake_descriptor() const override { return wake_; }
    [[nodiscard]] std::vector<Event> poll() override;
    Status add(const std::string& root, const std::filesystem::path& torrent_file,
               const std::string& tracker) override;
    void remove(const std::string& root, bool erase) override;
    bool give(const std::string& root, std::uint64_t index, std::vector<char> bytes) override;
    [[nodiscard]] State state(const std::string& root) const override;
    [[nodiscard]] std::string available(const std::string& root) const override;

  private:
    [[nodiscard]] std::optional<Event> event_of(const lt::alert& alert);
    [[nodiscard]] std::string root_of(const lt::torrent_handle& handle) const;

    const std::filesystem::path folder_;
    const int wake_;
    std::unique_ptr<lt::session> session_;
    std::map<std::string, lt::torrent_handle> torrents_;
    std::map<std::uint32_t, std::string> roots_;  ///< by the handle's id
};

Status Session::listen() {
    const auto until = steady_clock::now() + kListenMax;
    while (steady_clock::now() < until) {
        session_->wait_for_alert(lt::milliseconds(100));
        std::vector<lt::alert*> alerts;
        session_->pop_alerts(&alerts);
        for (const lt::alert* alert : alerts) {
            if (const auto* failed = lt::alert_cast<lt::listen_failed_alert>(alert))
                return fail(ErrorCode::kUnavailable, failed->message());
            if (lt::alert_cast<lt::listen_succeeded_alert>(alert) != nullptr) return {};
        }
    }
    return fail(ErrorCode::kUnavailable, "it does not listen");
}

Status Session::add(const std::string& root, const std::filesystem::path& torrent_file,
                    const std::string& tracker) {
    if (torrents_.contains(root)) return fail(ErrorCode::kAlreadyExists, "it is shared already");
    lt::error_code error;
    lt::add_torrent_params params;
    params.ti = std::make_shared<lt::torrent_info>(torrent_file.string(), error);
    if (error) return fail(ErrorCode::kMalformed, torrent_file.string() + ": " + error.message());
    if (params.ti->name() != root || !params.ti->v2())
        return fail(ErrorCode::kMalformed, torrent_file.string() + " is the torrent of another");
    params.save_path = folder_.string();
    params.trackers = {tracker};
    params.flags &= ~(lt::torrent_flags::auto_managed | lt::torrent_flags::paused |
                      lt::torrent_flags::update_subscribe);
    params.flags |= lt::torrent_flags::disable_dht | lt::torrent_flags::disable_lsd |
                    lt::torrent_flags::disable_pex;
    const lt::torrent_handle handle = session_->add_torrent(std::move(params), error);
    if (error) return fail(ErrorCode::kMalformed, error.message());
    torrents_[root] = handle;
    roots_[handle.id()] = root;
    return {};
}

void Session::remove(const std::string& root, bool erase) {
    const auto found = torrents_.find(root);
    if (found == torrents_.end()) return;
    roots_.erase(found->second.id());
    session_->remove_torrent(found->second,
                             erase ? lt::session::delete_files : lt::remove_flags_t{});
    torrents_.erase(found);
}

bool Session::give(const std::string& root, std::uint64_t index, std::vector<char> bytes) {
    const auto found = torrents_.find(root);
    if (found == torrents_.end()) return false;
    const lt::piece_index_t piece(static_cast<int>(index));
    if (found->second.have_piece(piece)) return false;
    found->second.add_piece(piece, std::move(bytes));
    return true;
}

Torrents::State Session::state(const std::string& root) const {
    const auto found = torrents_.find(root);
    if (found == torrents_.end()) return {};
    const lt::torrent_status status = found->second.status(lt::status_flags_t{});
    return {.is_seeding = status.is_seeding,
            .sent_bytes = static_cast<std::uint64_t>(status.total_payload_upload),
            .peers = static_cast<std::uint32_t>(status.num_peers)};
}

std::string Session::available(const std::string& root) const {
    const auto found = torrents_.find(root);
    if (found == torrents_.end()) return {};
    std::vector<int> counts;
    found->second.piece_availability(counts);
    std::string out;
    for (std::size_t i = 0; i < counts.size(); i += kDigitBits) {
        unsigned digit = 0;
        for (std::size_t bit = 0; bit < kDigitBits; ++bit)
            digit = 2 * digit + (i + bit < counts.size() && counts[i + bit] > 0 ? 1 : 0);
        out += "0123456789abcdef"[digit];
    }
    return out;
}

std::string Session::root_of(const lt::torrent_handle& handle) const {
    const auto found = roots_.find(handle.id());
    return found == roots_.end() ? std::string() : found->second;
}

std::vector<Torrents::Event> Session::poll() {
    std::uint64_t ignored = 0;
    static_cast<void>(::read(wake_, &ignored, sizeof ignored) == sizeof ignored);
    std::vector<lt::alert*> alerts;
    session_->pop_alerts(&alerts);
    std::vector<Event> out;
    for (const lt::alert* alert : alerts)
        if (auto event = event_of(*alert)) out.push_back(std::move(*event));
    return out;
}

std::optional<Torrents::Event> Session::event_of(const lt::alert& alert) {
    using Kind = Event::Kind;
    const auto make = [&](Kind kind, const lt::torrent_handle& handle,
                          std::uint64_t index = 0) -> std::optional<Event> {
        std::string root = root_of(handle);
        if (root.empty()) return std::nullopt;  // removed meanwhile
        return Event{kind, std::move(root), index, alert.message()};
    };
    if (const auto* piece = lt::alert_cast<lt::piece_finished_alert>(&alert))
        return make(Kind::kPiece, piece->handle,
                    static_cast<std::uint64_t>(static_cast<int>(piece->piece_index)));
    if (const auto* checked = lt::alert_cast<lt::torrent_checked_alert>(&alert))
        return make(Kind::kChecked, checked->handle);
    if (const auto* failed = lt::alert_cast<lt::torrent_error_alert>(&alert))
        return make(Kind::kFailed, failed->handle);
    if (const auto* failed = lt::alert_cast<lt::file_error_alert>(&alert))
        return make(Kind::kFailed, failed->handle);
    if (const auto* tracker = lt::alert_cast<lt::tracker_error_alert>(&alert))
        return make(Kind::kWarning, tracker->handle);
    if (const auto* wrong = lt::alert_cast<lt::hash_failed_alert>(&alert))
        return make(Kind::kWarning, wrong->handle);
    if (const auto* banned = lt::alert_cast<lt::peer_ban_alert>(&alert))
        return make(Kind::kWarning, banned->handle);
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Torrents>> Torrents::start(const TorrentsOptions& options) {
    // Of all code here only the library throws.
    try {
        auto session = std::make_unique<Session>(options);
        GYM_CHECK(session->listen());
        return std::unique_ptr<Torrents>(std::move(session));
    } catch (const std::exception& error) {
        return fail(ErrorCode::kUnavailable, error.what());
    }
}

}  // namespace gym::app
