#include "admission.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "gym/http_server/party.hpp"
#include "server_core.hpp"

namespace gym::rpc {
namespace {

constexpr std::uint32_t kControlOfCallerMax = 32, kTransfersOfCallerMax = 16,
                        kUrgentOfCallerMax = 8;
/// Of calls_max, what strangers may have: their calls are short.
constexpr std::uint32_t kStrangersShare = 4, kStrangersMin = 16;
/// Registrations within a minute whose nonces are remembered.
constexpr std::size_t kRegistrationsMax = 50'000, kRegistrationsOfCallerMax = 64;
/// How many times as many registrations at once as in a second.
constexpr double kRegistrationBurst = 100;
constexpr std::size_t kKnownMax = 1'000'000;

std::uint32_t strangers_max(const ServerConfig& config) {
    return std::max(config.calls_max / kStrangersShare, kStrangersMin);
}

std::array<LaneBounds, kLaneCount> bounds_of(const ServerConfig& config) {
    const std::uint32_t all = config.calls_max, of_address = config.calls_of_address_max;
    const std::uint32_t strangers = strangers_max(config);
    return {LaneBounds{all, kControlOfCallerMax, of_address},
            LaneBounds{all, kTransfersOfCallerMax, of_address},
            LaneBounds{all, kUrgentOfCallerMax, of_address},
            LaneBounds{strangers, 0, std::min(of_address, strangers / 2)}};
}

}  // namespace

std::string address_of_peer(const std::string& peer) {
    const std::size_t scheme = peer.find(':'), port = peer.rfind(':');
    if (scheme == std::string::npos || port <= scheme) return peer;
    std::string address = peer.substr(scheme + 1, port - scheme - 1);
    // gRPC writes [::1] as %5B::1%5D.
    for (const auto& [code, bracket] : {std::pair("%5B", "["), std::pair("%5D", "]")})
        if (const std::size_t at = address.find(code); at != std::string::npos)
            address.replace(at, 3, bracket);
    if (address.starts_with('[') && address.ends_with(']'))
        address = address.substr(1, address.size() - 2);
    return http_server::party_of(address);
}

Admission::Admission(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
                     crypto::Eip712Domain domain)
    : config_(config),
      handler_(handler),
      clock_(clock),
      domain_(std::move(domain)),
      places_(bounds_of(config)),
      registrations_(kRegistrationsMax, kRegistrationsOfCallerMax),
      registrations_of_address_(config.registrations_per_s_of_address,
                                kRegistrationBurst * config.registrations_per_s_of_address),
      strangers_(1, strangers_max(config)) {}

Status Admission::read_registered() {
    GYM_TRY(const std::vector<Address> registered, handler_.registered_nodes());
    const std::scoped_lock lock(mutex_);
    known_.insert(registered.begin(), registered.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               registered.size(), kKnownMax)));
    return {};
}

bool Admission::knows(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    return known_.contains(caller);
}

void Admission::note_registered(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    if (known_.size() < kKnownMax) known_.insert(caller);
}

Result<CallAuth> Admission::signed_by(const grpc::CallbackServerContext& context,
                                      std::string_view method) const {
    const auto [first, last] = context.client_metadata().equal_range(kAuthMetadataKey);
    if (first == last || std::next(first) != last)
        return fail(ErrorCode::kUnauthenticated,
                    "the call must carry " + std::string(kAuthMetadataKey) + " once");
    const std::string_view header(first->second.data(), first->second.size());
    GYM_TRY(const CallAuth auth, decode_call_auth(as_bytes(header)));
    GYM_CHECK(check_time(auth, clock_.now_ms()));
    GYM_CHECK(check_signature(domain_, method, auth));
    return auth;
}

Result<AdmittedPtr> Admission::place(Lane lane, const std::optional<CallAuth>& auth,
                                     const std::string& address) {
    GYM_CHECK(places_.enter(lane, auth ? auth->caller : Address{}, address));
    return std::make_shared<const Admitted>(places_, lane, auth, address);
}

Result<AdmittedPtr> Admission::admit_node(Lane lane, const CallAuth& auth,
                                          const std::string& address) {
    GYM_TRY(AdmittedPtr admitted, place(lane, auth, address));
    GYM_CHECK(nonces_.admit(auth.caller, auth.nonce, auth.unix_ms, clock_.now_ms()));
    return admitted;
}

void Admission::admit(const grpc::CallbackServerContext& context, std::string_view method,
                      Lane lane, const Then& then) {
    const auto auth = signed_by(context, method);
    if (!auth.ok()) return then(auth.error());
    const std::string address = address_of_peer(context.peer());
    if (knows(auth->caller)) return then(admit_node(lane, *auth, address));
    const auto waiting = place(Lane::kStranger, *auth, address);
    if (!waiting.ok()) return then(waiting.error());
    const bool queued = strangers_.submit([this, lane, auth = *auth, address, waiting = *waiting,
                                           then] { look_up(lane, auth, address, then); });
    if (!queued) then(fail(ErrorCode::kUnavailable, "the coordinator is busy"));
}

void Admission::look_up(Lane lane, const CallAuth& auth, const std::string& address,
                        const Then& then) {
    bool registered = false;
    const Status asked = guarded([&]() -> Status {
        GYM_TRY(registered, handler_.is_registered(auth.caller));
        return {};
    });
    if (!asked.ok()) return then(asked.error());
    if (!registered)
        return then(fail(ErrorCode::kPermissionDenied,
                         auth.caller.hex() + " is not registered: run `gym node register`"));
    note_registered(auth.caller);
    then(admit_node(lane, auth, address));
}

Result<AdmittedPtr> Admission::admit_registration(const grpc::CallbackServerContext& context) {
    GYM_TRY(const CallAuth auth, signed_by(context, "Register"));
    const std::string address = address_of_peer(context.peer());
    if (config_.registrations_per_s_of_address > 0 && !knows(auth.caller) &&
        !registrations_of_address_.take(address, 1, std::chrono::steady_clock::now()))
        return fail(ErrorCode::kUnavailable,
                    "too many nodes register from " + address + ": try again in a while");
    GYM_TRY(AdmittedPtr admitted, place(Lane::kStranger, auth, address));
    GYM_CHECK(registrations_.admit(auth.caller, auth.nonce, auth.unix_ms, clock_.now_ms()));
    return admitted;
}

Result<AdmittedPtr> Admission::admit_unsigned(const grpc::CallbackServerContext& context) {
    return place(Lane::kStranger, std::nullopt, address_of_peer(context.peer()));
}

}  // namespace gym::rpc
