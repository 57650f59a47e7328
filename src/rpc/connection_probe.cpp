#include "connection_probe.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "endpoint.hpp"

namespace gym::rpc {
namespace {

constexpr int kProbeSecondsMax = 3;
constexpr int kProbePauseMs = 20;
constexpr int kCertificatesMax = 64;

struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(BIO* bio) const { BIO_free_all(bio); }
    void operator()(X509* certificate) const { X509_free(certificate); }
};

/// Trusts the certificates in `pem`. @return 1 if there is one, as OpenSSL's functions.
int trust_certificates(SSL_CTX* context, const std::string& pem) {
    const std::unique_ptr<BIO, Free> text(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    int count = 0;
    while (text && count < kCertificatesMax) {
        const std::unique_ptr<X509, Free> certificate(
            PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
        if (!certificate) break;
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
        ++count;
    }
    return count > 0 ? 1 : 0;
}

std::string host_of(const std::string& target) {
    std::string host = target.substr(0, target.rfind(':'));
    if (host.size() > 1 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    return host;
}

/// Verifies as the real connection does, but continues, so that the reason can be read afterwards.
std::unique_ptr<SSL_CTX, Free> make_context(const std::string& ca_file) {
    std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
    if (!context) return nullptr;
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    const int loaded = ca_file.empty() || ca_file == "system"
                           ? SSL_CTX_set_default_verify_paths(context.get())
                       : is_pem_text(ca_file)
                           ? trust_certificates(context.get(), ca_file)
                           : SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
    return loaded == 1 ? std::move(context) : nullptr;
}

void expect_host(SSL* ssl, const std::string& host) {
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;
    X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    SSL_set_tlsext_host_name(ssl, host.c_str());
}

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

/// errno of a connection attempt; 0 if it came about.
int dial(const addrinfo& address) {
    const int file = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return errno;
    int result = ::connect(file, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (result == EINPROGRESS) {
        pollfd waited{file, POLLOUT, 0};
        socklen_t size = sizeof result;
        if (::poll(&waited, 1, kProbeSecondsMax * 1'000) <= 0)
            result = ETIMEDOUT;
        else if (::getsockopt(file, SOL_SOCKET, SO_ERROR, &result, &size) != 0)
            result = errno;
    }
    ::close(file);
    return result;
}

std::string explain_verdict(long verdict, const std::string& target, const std::string& ca_file) {
    if (verdict == X509_V_OK) return "";
    const std::string reason = X509_verify_cert_error_string(verdict);
    switch (verdict) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "its certificate is for another name than " + host_of(target) +
                   ": dial the name that it is for";
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "its certificate has expired";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "its certificate is not valid yet: is this machine's clock right?";
        default:
            return "its certificate is not signed by " +
                   (ca_file == "system"    ? std::string("an authority of this system")
                    : is_pem_text(ca_file) ? std::string("the CA of the network's profile")
                                           : ca_file) +
                   " (" + reason + "): name the CA of this coordinator with --tls-ca";
    }
}

}  // namespace

std::string explain_connection(const std::string& target) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const std::string port = target.substr(target.rfind(':') + 1);
    if (getaddrinfo(host_of(target).c_str(), port.c_str(), &hints, &list) != 0 || list == nullptr)
        return "the name " + host_of(target) + " is not known (DNS)";
    const std::unique_ptr<addrinfo, FreeAddresses> addresses(list);
    int last = 0;
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        last = dial(*each);
        if (last == 0) return "";
    }
    return std::strerror(last);
}

std::string explain_tls(const std::string& target, const std::string& ca_file) {
    const auto context = make_context(ca_file);
    if (!context) return "";
    const std::unique_ptr<BIO, Free> bio(BIO_new_ssl_connect(context.get()));
    SSL* ssl = nullptr;
    if (!bio || BIO_get_ssl(bio.get(), &ssl) != 1 || ssl == nullptr) return "";
    BIO_set_conn_hostname(bio.get(), target.c_str());
    expect_host(ssl, host_of(target));
    const bool speaks_tls = BIO_do_connect_retry(bio.get(), kProbeSecondsMax, kProbePauseMs) == 1;
    ERR_clear_error();
    if (ca_file.empty())
        return speaks_tls ? "it speaks TLS: name the CA of its certificate with --tls-ca FILE (or "
                            "\"system\")"
                          : "";
    if (!speaks_tls)
        return "it does not speak TLS: is this the right port? (--tls-ca is for a coordinator "
               "with a certificate)";
    return explain_verdict(SSL_get_verify_result(ssl), target, ca_file);
}

}  // namespace gym::rpc
