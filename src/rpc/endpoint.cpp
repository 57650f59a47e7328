#include "endpoint.hpp"

#include "gym/common/file.hpp"

namespace gym::rpc {

bool is_pem_text(const std::string& text) {
    return text.find("-----BEGIN ") != std::string::npos;
}

namespace {

constexpr std::uint64_t kPemBytesMax = 1U << 20;

Result<std::string> read_pem(const std::string& path) {
    if (is_pem_text(path)) return path;
    GYM_TRY(const Bytes content, read_file(path, kPemBytesMax));
    return std::string(content.begin(), content.end());
}

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "name:1" to "name:65535", "[::1]:1".
bool is_host_and_port(std::string_view target) {
    const std::size_t colon = target.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string_view host = target.substr(0, colon), port = target.substr(colon + 1);
    const bool bracketed = host.front() == '[' && host.back() == ']';
    if (host.find_first_of("/ ") != std::string_view::npos) return false;
    if (!bracketed && host.find(':') != std::string_view::npos) return false;
    return all_digits(port) && port.size() <= 5 && std::stoul(std::string(port)) - 1 < 65'535;
}

bool is_ipv4_loopback(std::string_view host) {
    // 127.0.0.0/8 as four decimal numbers: "127.evil.example" is a name.
    if (!host.starts_with("127.")) return false;
    int parts = 0;
    for (std::size_t start = 0; start <= host.size(); ++parts) {
        const std::size_t dot = std::min(host.find('.', start), host.size());
        if (!all_digits(host.substr(start, dot - start))) return false;
        start = dot + 1;
    }
    return parts == 4;
}

}  // namespace

bool is_loopback(const std::string& endpoint) {
    const std::size_t colon = endpoint.rfind(':');
    if (colon == std::string::npos) return false;
    const std::string_view host = std::string_view(endpoint).substr(0, colon);
    return host == "localhost" || host == "[::1]" || is_ipv4_loopback(host);
}

Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(
    const std::string& listen, const std::string& certificate_file, const std::string& key_file) {
    if (certificate_file.empty() != key_file.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "TLS needs both a certificate file and a key file");
    if (certificate_file.empty()) {
        if (!is_loopback(listen))
            return fail(ErrorCode::kInvalidArgument,
                        "listening on " + listen +
                            " without TLS: name a certificate and a key, or use 127.0.0.1");
        return grpc::InsecureServerCredentials();
    }
    GYM_TRY(std::string certificate, read_pem(certificate_file));
    GYM_TRY(std::string key, read_pem(key_file));
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({std::move(key), std::move(certificate)});
    return grpc::SslServerCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(const std::string& target,
                                                                      const std::string& ca_file,
                                                                      bool allow_plaintext) {
    if (!is_host_and_port(target))
        return fail(ErrorCode::kInvalidArgument,
                    "'" + target +
                        "' is not a coordinator's address: host:port is expected, such as "
                        "gym.example:7600");
    if (ca_file.empty()) {
        if (!is_loopback(target) && !allow_plaintext)
            return fail(ErrorCode::kInvalidArgument,
                        "dialling " + target +
                            " without TLS: name the CA of its certificate (--tls-ca FILE, or "
                            "\"system\"), or accept that everyone between can read and alter "
                            "(--insecure)");
        return grpc::InsecureChannelCredentials();
    }
    grpc::SslCredentialsOptions options;
    if (ca_file != "system") {
        GYM_TRY(options.pem_root_certs, read_pem(ca_file));
        if (options.pem_root_certs.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
            return fail(ErrorCode::kInvalidArgument,
                        (is_pem_text(ca_file) ? "the network's CA" : ca_file) +
                            std::string(" holds no certificate (PEM)"));
    }
    return grpc::SslCredentials(options);
}

}  // namespace gym::rpc
