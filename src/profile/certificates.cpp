#include "certificates.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace gym::profile {
namespace {

constexpr int kCertificatesMax = 64;

struct Free {
    void operator()(BIO* bio) const { BIO_free_all(bio); }
    void operator()(X509* certificate) const { X509_free(certificate); }
};

Error wrong(const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, "the coordinator's CA " + what);
}

Status check_dates(const X509* certificate, std::time_t now_s) {
    if (X509_cmp_time(X509_get0_notAfter(certificate), &now_s) < 0)
        return wrong("has expired: the operator has to publish a profile with a new one");
    if (X509_cmp_time(X509_get0_notBefore(certificate), &now_s) > 0)
        return wrong("is not valid yet: is this machine's clock right?");
    return {};
}

}  // namespace

Status check_certificates(const std::string& pem, UnixMs now_ms) {
    if (pem.find("PRIVATE KEY-----") != std::string::npos)
        return wrong(
            "holds a private key, which must not be published: name a file with only its "
            "certificate");
    const std::unique_ptr<BIO, Free> text(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    if (!text) return fail(ErrorCode::kInternal, "no memory for a certificate");
    int count = 0;
    for (; count < kCertificatesMax; ++count) {
        const std::unique_ptr<X509, Free> certificate(
            PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
        if (!certificate) break;
        GYM_CHECK(check_dates(certificate.get(), static_cast<std::time_t>(now_ms / 1'000)));
    }
    if (count == 0) return wrong("is not a certificate (PEM), \"system\" or \"none\"");
    return {};
}

}  // namespace gym::profile
