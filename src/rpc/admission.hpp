#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gym/common/clock.hpp"
#include "gym/mirror/rate_limit.hpp"
#include "gym/rpc/call_auth.hpp"
#include "gym/rpc/handler.hpp"
#include "gym/rpc/server.hpp"
#include "handler_pool.hpp"
#include "places.hpp"

namespace gym::rpc {

/// The IP address of a call's peer, as bounds count it: of "ipv4:192.0.2.1:50000" the address, of
/// IPv6 its /64. Another text is returned as it is.
[[nodiscard]] std::string address_of_peer(const std::string& peer);

/// A call that is served: who signed it, and its place until this ends. The request itself is
/// checked when it is there.
class Admitted {
  public:
    Admitted(Places& places, Lane lane, const std::optional<CallAuth>& auth, std::string address)
        : places_(places), lane_(lane), auth_(auth), address_(std::move(address)) {}
    ~Admitted() { places_.leave(lane_, caller(), address_); }
    Admitted(const Admitted&) = delete;
    Admitted& operator=(const Admitted&) = delete;

    /// The zero address where nobody has to sign.
    [[nodiscard]] Address caller() const { return auth_ ? auth_->caller : Address{}; }
    /// Whether `request` is what the caller signed for. @pre it is a signed call.
    /// @errors kUnauthenticated.
    [[nodiscard]] Status check(ByteView request) const { return check_request(*auth_, request); }

  private:
    Places& places_;
    const Lane lane_;
    const std::optional<CallAuth> auth_;
    const std::string address_;
};
using AdmittedPtr = std::shared_ptr<const Admitted>;

/// Decides about calls by their metadata alone, before a byte of a request is read: a stranger's
/// call costs a signature at most, holds no place that a node's call needs, and leaves nothing
/// behind. Thread-safe.
class Admission {
  public:
    using Then = std::function<void(Result<AdmittedPtr>)>;

    Admission(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
              crypto::Eip712Domain domain);

    /// Reads the addresses that are registered. @errors those of the handler.
    Status read_registered();

    /// Calls `then` once: here, or, where the caller has to be looked up, from a thread of this.
    /// @errors (of `then`) kUnauthenticated, kPermissionDenied for a caller that is not
    /// registered, kUnavailable without a free place.
    void admit(const grpc::CallbackServerContext& context, std::string_view method, Lane lane,
               const Then& then);
    /// Registration, of which an IP address has only so many a second.
    [[nodiscard]] Result<AdmittedPtr> admit_registration(
        const grpc::CallbackServerContext& context);
    void note_registered(const Address& caller);
    /// A call that nobody signs.
    [[nodiscard]] Result<AdmittedPtr> admit_unsigned(const grpc::CallbackServerContext& context);

  private:
    [[nodiscard]] Result<CallAuth> signed_by(const grpc::CallbackServerContext& context,
                                             std::string_view method) const;
    [[nodiscard]] bool knows(const Address& caller);
    [[nodiscard]] Result<AdmittedPtr> place(Lane lane, const std::optional<CallAuth>& auth,
                                            const std::string& address);
    [[nodiscard]] Result<AdmittedPtr> admit_node(Lane lane, const CallAuth& auth,
                                                 const std::string& address);
    void look_up(Lane lane, const CallAuth& auth, const std::string& address, const Then& then);

    const ServerConfig config_;
    NodeHandler& handler_;
    const Clock& clock_;
    const crypto::Eip712Domain domain_;
    Places places_;
    ReplayGuard nonces_, registrations_;
    mirror::PeerLimit registrations_of_address_;
    std::mutex mutex_;
    std::set<Address> known_;  ///< guarded by mutex_
    HandlerPool strangers_;
};

}  // namespace gym::rpc
