#include "gym/data/remote.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "gym/common/file.hpp"
#include "s3_list.hpp"

namespace gym::data {
namespace {

constexpr long kConnectSeconds = 20, kSilentSeconds = 60, kRedirectsMax = 5;
constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20;  // of lists and error messages
constexpr std::size_t kReasonBytesMax = 1'000;
constexpr unsigned kPagesMax = 100'000;

std::string environment(std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    return {};
}

struct S3Name {
    std::string bucket;
    std::string key;
};
std::optional<S3Name> s3_name(std::string_view url) {
    constexpr std::string_view kScheme = "s3://";
    if (!url.starts_with(kScheme)) return std::nullopt;
    url.remove_prefix(kScheme.size());
    const std::size_t slash = std::min(url.find('/'), url.size());
    return S3Name{std::string(url.substr(0, slash)),
                  std::string(url.substr(std::min(slash + 1, url.size())))};
}

/// Percent-encodes all but RFC 3986's unreserved characters, as signatures have it.
std::string encoded(std::string_view text, bool keep_slashes) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                           (c >= 'a' && c <= 'z') || std::strchr("-._~", c) != nullptr;
        if (c != '\0' && (plain || (keep_slashes && c == '/'))) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
    return out;
}

/// Where the bytes of an answer go.
struct Answer {
    CURL* curl = nullptr;
    int file = -1;       ///< for 200 and 206; -1: to `body`
    bool begun = false;  ///< whether the first bytes have been judged
    bool to_file = false;
    std::uint64_t from = 0;                  ///< the range's beginning
    std::uint64_t left = ~std::uint64_t{0};  ///< bytes that the file may still get
    int file_error = 0;
    std::string body;
    std::string etag;
    const std::function<bool()>* stopped = nullptr;
    std::optional<AddressKind> near_max;  ///< of redirections: of the first server, or as asked for
    std::string refused_address;          ///< that a redirection leads to

    [[nodiscard]] long status() const {
        long code = 0;
        ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
        return code;
    }
    /// A server that does not know ranges sends the whole file again.
    bool begin() {
        begun = true;
        const long code = status();
        to_file = file >= 0 && (code == 200 || code == 206);
        if (!to_file) return true;
        const std::uint64_t at = code == 206 ? from : 0;
        if (at > left) return false;
        left -= at;
        if (::ftruncate(file, static_cast<off_t>(at)) == 0 &&
            ::lseek(file, static_cast<off_t>(at), SEEK_SET) >= 0)
            return true;
        file_error = errno;
        return false;
    }
};

std::size_t on_bytes(char* data, std::size_t, std::size_t size, void* user) {
    auto& answer = *static_cast<Answer*>(user);
    if (!answer.begun && !answer.begin()) return 0;
    if (!answer.to_file) {
        if (answer.body.size() + size > kAnswerBytesMax) return 0;
        answer.body.append(data, size);
        return size;
    }
    if (size > answer.left) return 0;
    answer.left -= size;
    for (std::size_t done = 0; done < size;) {
        const ssize_t written = ::write(answer.file, data + done, size - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            answer.file_error = errno;
            return 0;
        }
        done += static_cast<std::size_t>(written);
    }
    return size;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
    constexpr std::string_view kName = "etag:";
    std::string line(data, size);
    std::ranges::transform(line, line.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!line.starts_with(kName)) return size;
    std::string value(data + kName.size(), size - kName.size());
    std::erase_if(value, [](char c) { return c == '\r' || c == '\n' || c == ' '; });
    static_cast<Answer*>(user)->etag = std::move(value);
    return size;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* stopped = static_cast<Answer*>(user)->stopped;
    return stopped != nullptr && *stopped && (*stopped)() ? 1 : 0;
}

/// Before each request on a connection: the file becomes a dataset, which its owner may publish, so
/// that a stranger's server must not choose what is read in this machine's own networks.
int on_connected(void* user, char* address, char*, int, int) {
    auto& answer = *static_cast<Answer*>(user);
    long redirections = 0;
    ::curl_easy_getinfo(answer.curl, CURLINFO_REDIRECT_COUNT, &redirections);
    const AddressKind kind = kind_of_address(address);
    if (redirections == 0) {
        answer.near_max = answer.near_max.value_or(kind);
        return CURL_PREREQFUNC_OK;
    }
    if (kind <= answer.near_max.value_or(AddressKind::kInternet)) return CURL_PREREQFUNC_OK;
    answer.refused_address = address;
    return CURL_PREREQFUNC_ABORT;
}

/// An error after which the same request may succeed.
struct Failure {
    Error error;
    bool may_pass = false;
};

class Headers {
  public:
    void add(const std::string& line) { list_ = ::curl_slist_append(list_, line.c_str()); }
    Headers() = default;
    Headers(const Headers&) = delete;
    Headers& operator=(const Headers&) = delete;
    ~Headers() { ::curl_slist_free_all(list_); }
    [[nodiscard]] curl_slist* get() const { return list_; }

  private:
    curl_slist* list_ = nullptr;
};

struct Descriptor {
    int value = -1;
    explicit Descriptor(int v) : value(v) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value >= 0) ::close(value);
    }
};

Error file_error(const std::filesystem::path& path, int reason) {
    std::string message = "cannot write " + path.string() + ": " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG)
        message += "; make room and run the command again";
    return fail(ErrorCode::kIo, std::move(message));
}

}  // namespace

struct Remote::Impl {
    explicit Impl(RemoteOptions given) : options(std::move(given)) {
        static std::once_flag once;
        std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
        curl = ::curl_easy_init();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() { ::curl_easy_cleanup(curl); }

    [[nodiscard]] std::string endpoint() const {
        std::string out = options.s3_endpoint.empty()
                              ? "https://s3." + options.s3_region + ".amazonaws.com"
                              : options.s3_endpoint;
        while (out.ends_with('/'))
            out.pop_back();
        return out;
    }

    void prepare(const std::string& url, bool s3, Headers& headers, Answer& answer) {
        ::curl_easy_reset(curl);
        answer.curl = curl;
        answer.stopped = &options.stopped;
        if (options.bytes_max > 0) answer.left = options.bytes_max;
        const auto set = [this](CURLoption option, auto value) {
            ::curl_easy_setopt(curl, option, value);
        };
        set(CURLOPT_URL, url.c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
        set(CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
        set(CURLOPT_USERAGENT, "gym");
        set(CURLOPT_WRITEFUNCTION, &on_bytes);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&answer));
        set(CURLOPT_HEADERFUNCTION, &on_header);
        set(CURLOPT_HEADERDATA, static_cast<void*>(&answer));
        set(CURLOPT_XFERINFOFUNCTION, &on_progress);
        set(CURLOPT_XFERINFODATA, static_cast<void*>(&answer));
        set(CURLOPT_NOPROGRESS, 0L);
        if (const std::string file = environment({"SSL_CERT_FILE"}); !file.empty())
            set(CURLOPT_CAINFO, file.c_str());
        if (!s3 && !options.bearer.empty()) {
            headers.add("Authorization: Bearer " + options.bearer);  // and no redirections with it
        } else if (!s3) {
            answer.near_max = options.redirects_to;
            set(CURLOPT_FOLLOWLOCATION, 1L);
            set(CURLOPT_MAXREDIRS, kRedirectsMax);
            set(CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http,https");
            set(CURLOPT_PREREQFUNCTION, &on_connected);
            set(CURLOPT_PREREQDATA, static_cast<void*>(&answer));
        } else if (!options.s3_key.empty()) {
            const std::string signer = "aws:amz:" + options.s3_region + ":s3";
            const std::string user = options.s3_key + ":" + options.s3_secret;
            set(CURLOPT_AWS_SIGV4, signer.c_str());
            set(CURLOPT_USERPWD, user.c_str());
            headers.add("x-amz-content-sha256: UNSIGNED-PAYLOAD");
            if (!options.s3_token.empty()) headers.add("x-amz-security-token: " + options.s3_token);
        }
        set(CURLOPT_HTTPHEADER, headers.get());
    }

    /// One request. @param name of what is fetched, for messages.
    std::optional<Failure> perform(const std::string& name, Answer& answer) {
        const CURLcode code = ::curl_easy_perform(curl);
        if (answer.file_error != 0) return Failure{file_error("the download", answer.file_error)};
        if (!answer.refused_address.empty())
            return Failure{fail(ErrorCode::kPermissionDenied,
                                name + ": the server redirects to " + answer.refused_address +
                                    ", an address of this machine or its networks: name that "
                                    "place itself, if it is meant")};
        if (code == CURLE_UNSUPPORTED_PROTOCOL && answer.status() >= 300)
            return Failure{fail(ErrorCode::kPermissionDenied,
                                name + ": the server redirects to a place that is not read from "
                                       "here (https:// alone after https://)")};
        if (code == CURLE_ABORTED_BY_CALLBACK)
            return Failure{fail(ErrorCode::kCancelled, name + ": interrupted")};
        if (code == CURLE_WRITE_ERROR)
            return Failure{fail(ErrorCode::kMalformed, name + ": the answer is too long")};
        if (code != CURLE_OK) return Failure{transport_error(name, code), true};
        return status_failure(name, answer);
    }

    static Error transport_error(const std::string& name, CURLcode code) {
        const bool late = code == CURLE_OPERATION_TIMEDOUT;
        std::string what = ::curl_easy_strerror(code);
        if (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR)
            what = "the server cut the connection";
        return fail(late ? ErrorCode::kTimeout : ErrorCode::kUnavailable, name + ": " + what);
    }

    static std::optional<Failure> status_failure(const std::string& name, const Answer& answer) {
        const long status = answer.status();
        if (status >= 200 && status < 300) return std::nullopt;
        std::string said = answer.body.substr(0, kReasonBytesMax);
        std::ranges::replace_if(
            said, [](char c) { return c < ' ' || c > '~'; }, ' ');
        const std::string what = name + ": HTTP status " + std::to_string(status);
        switch (status) {
            case 404:
            case 410:
                return Failure{fail(ErrorCode::kNotFound,
                                    what + ": there is no such file, or it was removed")};
            case 401:
                return Failure{fail(ErrorCode::kUnauthenticated, what + ": " + said)};
            case 403:
                return Failure{fail(ErrorCode::kPermissionDenied, what + ": " + said)};
            case 412:
                return Failure{
                    fail(ErrorCode::kConflict, what + ": the file changed while it was read")};
            default:
                return Failure{fail(ErrorCode::kUnavailable, what + ": " + said),
                               status >= 500 || status == 429 || status == 416};
        }
    }

    /// Repeats `attempt`, which returns a Failure or nothing.
    template <class Attempt>
    Status repeat(Attempt&& attempt) {
        auto pause = options.retry_pause;
        for (unsigned tried = 1;; ++tried, pause *= 2) {
            const std::optional<Failure> failure = attempt();
            if (!failure) return {};
            if (!failure->may_pass || tried >= options.attempts_max) {
                if (!failure->may_pass) return failure->error;
                return fail(failure->error.code,
                            failure->error.message + " (tried " + std::to_string(tried) +
                                " times); run the same command again later: it continues");
            }
            std::this_thread::sleep_for(pause);
        }
    }

    Result<std::string> get_text(const std::string& url, const std::string& name) {
        std::string out;
        GYM_CHECK(repeat([&]() -> std::optional<Failure> {
            Headers headers;
            Answer answer;
            prepare(url, true, headers, answer);
            auto failure = perform(name, answer);
            if (!failure) out = std::move(answer.body);
            return failure;
        }));
        return out;
    }

    Result<std::vector<S3Object>> list(const S3Name& from, const std::string& name) {
        std::vector<S3Object> out;
        std::string next;
        for (unsigned page = 0; page < kPagesMax; ++page) {
            // In the order of their names, as the signature needs them.
            std::string query =
                next.empty() ? "" : "continuation-token=" + encoded(next, false) + "&";
            query += "list-type=2&prefix=" + encoded(from.key, false);
            GYM_TRY(const std::string xml,
                    get_text(endpoint() + "/" + encoded(from.bucket, false) + "?" + query, name));
            GYM_TRY(S3Page found, read_s3_page(xml));
            std::ranges::move(found.objects, std::back_inserter(out));
            if (out.size() > kInputsMax)
                return fail(ErrorCode::kOutOfRange,
                            name + " has more than " + std::to_string(kInputsMax) + " objects");
            if (found.next.empty()) break;
            next = std::move(found.next);
        }
        std::ranges::sort(out, {}, &S3Object::key);
        return out;
    }

    std::optional<Failure> fetch(const Input& input, const std::filesystem::path& part,
                                 const std::filesystem::path& tag_file) {
        const auto s3 = s3_name(input.url);
        const std::string url =
            s3 ? endpoint() + "/" + encoded(s3->bucket, false) + "/" + encoded(s3->key, true)
               : input.url;
        const Descriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (file.value < 0) return Failure{file_error(part, errno)};
        const auto known = read_file(tag_file, kReasonBytesMax);
        const off_t have = ::lseek(file.value, 0, SEEK_END);
        Headers headers;
        Answer answer;
        answer.file = file.value;
        if (have > 0 && known.ok() && !known->empty()) {
            answer.from = static_cast<std::uint64_t>(have);
            headers.add("If-Range: " + std::string(known->begin(), known->end()));
        }
        prepare(url, s3.has_value(), headers, answer);
        const std::string range = std::to_string(answer.from) + "-";
        if (answer.from > 0) ::curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
        auto failure = perform(input.name, answer);
        if (!answer.etag.empty() && answer.to_file)
            if (const Status kept = write_file_atomic(tag_file, as_bytes(answer.etag)); !kept.ok())
                return Failure{kept.error()};
        if (!failure && !answer.begun && ::ftruncate(file.value, 0) != 0)  // an empty file
            return Failure{file_error(part, errno)};
        if (failure && answer.status() == 416 && ::ftruncate(file.value, 0) == 0)
            return failure;  // shorter than what is here: from the beginning
        if (!failure && ::fsync(file.value) != 0) return Failure{file_error(part, errno)};
        return failure;
    }

    RemoteOptions options;
    CURL* curl = nullptr;
};

RemoteOptions RemoteOptions::from_environment() {
    RemoteOptions out;
    out.s3_endpoint = environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
    if (const auto region = environment({"AWS_REGION", "AWS_DEFAULT_REGION"}); !region.empty())
        out.s3_region = region;
    out.s3_key = environment({"AWS_ACCESS_KEY_ID"});
    out.s3_secret = environment({"AWS_SECRET_ACCESS_KEY"});
    out.s3_token = environment({"AWS_SESSION_TOKEN"});
    return out;
}

bool is_remote(const std::string& name) {
    return name.starts_with("s3://") || name.starts_with("https://") || name.starts_with("http://");
}

Remote::Remote(RemoteOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Remote::Remote(Remote&&) noexcept = default;
Remote::~Remote() = default;

Result<std::vector<Input>> Remote::expand(const std::string& url, const ReaderOptions& options) {
    const auto one = [&](const std::string& name) -> Result<Input> {
        Input out{.name = name, .path = {}, .url = name};
        // A query says nothing about the format.
        GYM_TRY(out.format, format_of(out.name.substr(0, out.name.find_first_of("?#")), options));
        return out;
    };
    const auto s3 = s3_name(url);
    if (!s3) {
        GYM_TRY(Input input, one(url));
        return std::vector<Input>{std::move(input)};
    }
    if (s3->bucket.empty())
        return fail(ErrorCode::kInvalidArgument, url + ": expected s3://BUCKET/KEY");
    if (!s3->key.empty() && !s3->key.ends_with('/')) {
        GYM_TRY(Input input, one(url));
        return std::vector<Input>{std::move(input)};
    }
    GYM_TRY(const auto objects, impl_->list(*s3, url));
    std::vector<Input> out;
    out.reserve(objects.size());
    for (const S3Object& object : objects) {
        if (object.key.ends_with('/')) continue;  // a folder's mark
        GYM_TRY(Input input, one("s3://" + s3->bucket + "/" + object.key));
        input.size_bytes = object.size_bytes;
        input.version = object.etag;
        out.push_back(std::move(input));
    }
    if (out.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "no objects below " + url + ": is the prefix right?");
    return out;
}

Status Remote::download(const Input& input, const std::filesystem::path& to) {
    std::error_code error;
    if (std::filesystem::exists(to, error)) return {};
    const std::filesystem::path part = to.string() + ".part", tag = to.string() + ".etag";
    Status fetched = impl_->repeat([&] { return impl_->fetch(input, part, tag); });
    if (!fetched.ok()) {
        const auto size = std::filesystem::file_size(part, error);
        if (!error && size == 0) {  // nothing that could be continued
            std::filesystem::remove(part, error);
            std::filesystem::remove(tag, error);
        }
        return fetched;
    }
    std::filesystem::rename(part, to, error);
    if (error) return file_error(to, error.value());
    std::filesystem::remove(tag, error);
    return {};
}

}  // namespace gym::data
