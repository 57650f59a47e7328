// Boost.Beast stays in this file: its templates take seconds to compile and no other code needs
// them.
#include "session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "gym/crypto/secret.hpp"
#include "gym/http_server/party.hpp"
#include "gym/http_server/problem.hpp"

namespace gym::http_server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kRequestIdBytesMax = 64;
/// Of a body that is read or sent in pieces: all of it that is in memory.
constexpr std::uint64_t kPieceBytes = 256 << 10;
constexpr std::uint32_t kLingerMs = 2'000;
constexpr std::uint64_t kLingerBytesMax = 1 << 20;

/// The caller's id if it is harmless in a log, else a random one.
std::string request_id(std::string_view offered) {
    bool plain = !offered.empty() && offered.size() <= kRequestIdBytesMax;
    for (const char c : offered)
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
                          c == '_' || c == '.');
    if (plain) return std::string(offered);
    std::array<std::uint8_t, 8> random{};
    crypto::secure_random(random);
    return to_hex(random);
}

/// Whether the peer sent something other than HTTP, as opposed to a socket that broke.
bool is_protocol_error(const beast::error_code& error) {
    return error.category() == http::make_error_code(http::error::bad_target).category();
}

Request to_request(const http::request_header<>& head) {
    Request out;
    out.method = std::string(head.method_string());
    out.target = std::string(head.target());
    for (const auto& field : head) {
        std::string name(field.name_string());
        for (char& c : name)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        std::string& value = out.headers[name];
        if (!value.empty()) value += ", ";
        value += std::string(field.value());
    }
    out.request_id = request_id(out.header("x-request-id"));
    return out;
}

class HttpSession final : public Session, public std::enable_shared_from_this<HttpSession> {
  public:
    HttpSession(asio::ip::tcp::socket socket, const ServerOptions& options, Handler& handler,
                SessionHost& host)
        : stream_(std::move(socket)),
          deadline_(stream_.get_executor()),
          options_(options),
          handler_(handler),
          host_(host) {
        boost::system::error_code ignored;
        stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
        const auto peer = stream_.socket().remote_endpoint(ignored);
        if (!ignored) peer_ = peer.address().to_string();
        party_ = party_of(peer_);
    }

    void start(bool crowded) override {
        if (!crowded) {
            read_header();
            return;
        }
        closing_ = true;
        refuse(503, "too many connections; try again");
    }

    void drain() override {
        closing_ = true;
        if (waiting_) close();
    }

    [[nodiscard]] const std::string& party() const override { return party_; }

  private:
    void read_header() {
        parser_.emplace();
        parser_->header_limit(options_.header_bytes_max);
        // The route decides; until it has, no body byte is accepted.
        parser_->body_limit(boost::none);
        waiting_ = true;
        limit_reading(options_.header_timeout_ms);
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](beast::error_code error, std::size_t) {
                                    self->on_header(error);
                                });
    }

    void on_header(beast::error_code error) {
        waiting_ = false;
        end_reading();
        if (closing_) return close();
        if (late_ && parser_->got_some())
            return refuse(408, "the request's header did not arrive within " +
                                   std::to_string(options_.header_timeout_ms) + " ms");
        if (error == http::error::header_limit || error == http::error::buffer_overflow)
            return refuse(431, "the request's header is longer than " +
                                   std::to_string(options_.header_bytes_max) + " bytes");
        // The peer sent nothing or left: there is no one to answer.
        if (error == http::error::end_of_stream || (error && !is_protocol_error(error)))
            return close();
        if (error) return refuse(400, "this is not an HTTP/1.1 request: " + error.message());
        request_ = to_request(parser_->get());
        request_.peer = peer_;
        keep_alive_ = parser_->get().keep_alive();
        head_only_ = parser_->get().method() == http::verb::head;
        in_pool([this] { admission_ = handler_.admit(request_); }, [this] { on_admitted(); });
    }

    void on_admitted() {
        if (admission_.refused) {
            // The body was not read: what follows on this connection is not a request.
            if (!parser_->is_done() && has_body()) keep_alive_ = false;
            return respond(std::move(*admission_.refused));
        }
        const auto length = parser_->content_length();
        if (length && *length > admission_.body_bytes_max) return too_large();
        parser_->body_limit(admission_.body_bytes_max);
        request_.sink = admission_.sink;
        if (parser_->is_done() || !has_body()) return run();
        if (!admission_.sink) {
            const auto room = begin_body(length.value_or(admission_.body_bytes_max));
            if (room != BodyMemory::Room::kTaken) return no_room(room);
        }
        // How long a streamed body may take follows from its size.
        if (admission_.sink && !length) return refuse(411, "the body needs a Content-Length here");
        if (beast::iequals(parser_->get()[http::field::expect], "100-continue"))
            return send_continue();
        read_body();
    }

    /// Reserves memory for a body. A peer that announces no length may send the most.
    BodyMemory::Room begin_body(std::uint64_t bytes) {
        if (bytes <= kSmallBodyBytes) return BodyMemory::Room::kTaken;
        const BodyMemory::Room room = host_.body_begins(admission_.owner, bytes);
        if (room == BodyMemory::Room::kTaken) body_bytes_ = bytes;
        return room;
    }

    void no_room(BodyMemory::Room room) {
        if (room == BodyMemory::Room::kFull)
            return refuse(503, "too many large bodies are under way; try again");
        refuse(429, "large requests of your account may have " +
                        std::to_string(options_.owner_bodies_bytes_max) +
                        " bytes together at one time: wait until the others are answered, then "
                        "try again");
    }

    void end_body() {
        if (body_bytes_ == 0) return;
        parser_.reset();
        request_.body = {};
        host_.body_ended(admission_.owner, std::exchange(body_bytes_, 0));
    }

    [[nodiscard]] bool has_body() const {
        return parser_->chunked() || parser_->content_length().value_or(0) > 0;
    }

    void send_continue() {
        continue_.emplace(http::status::continue_, 11);
        stream_.expires_after(Milliseconds(options_.write_timeout_ms));
        http::async_write(stream_, *continue_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->close();
                              self->read_body();
                          });
    }

    void read_body() {
        if (admission_.sink) return read_streamed_body();
        limit_reading(options_.body_timeout_ms);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             self->on_body(error);
                         });
    }

    void on_body(beast::error_code error) {
        end_reading();
        if (late_)
            return refuse(408, "the request's body did not arrive within " +
                                   std::to_string(options_.body_timeout_ms) + " ms");
        if (error == http::error::body_limit) return too_large();
        if (error == http::error::partial_message || error == http::error::end_of_stream)
            return close();
        if (is_protocol_error(error))
            return refuse(400, "the request's body is malformed: " + error.message());
        if (error) return close();
        request_.body = std::move(parser_->get().body());
        run();
    }

    // A body that goes to a sink: read a piece, write it in the pool, read the next. The peer waits
    // for the disk; nothing piles up here.

    void read_streamed_body() {
        streamed_.emplace(std::move(*parser_));
        piece_.resize(kPieceBytes);
        body_ms_left_ = options_.body_timeout_ms +
                        *streamed_->content_length() * 1'000 / options_.body_bytes_per_s_min;
        read_piece();
    }

    void read_piece() {
        streamed_->get().body().data = piece_.data();
        streamed_->get().body().size = piece_.size();
        read_began_ = std::chrono::steady_clock::now();
        const std::uint64_t silence_ms = options_.body_silence_ms;
        limit_reading(silence_ms == 0 ? body_ms_left_ : std::min(body_ms_left_, silence_ms));
        http::async_read(stream_, buffer_, *streamed_,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             self->on_piece_received(error);
                         });
    }

    void on_piece_received(beast::error_code error) {
        end_reading();
        if (error == http::error::need_buffer) error = {};  // the piece is full
        const std::size_t size = piece_.size() - streamed_->get().body().size;
        const auto took = std::chrono::duration_cast<Milliseconds>(
            std::chrono::steady_clock::now() - read_began_);
        body_ms_left_ -= std::min(body_ms_left_, static_cast<std::uint64_t>(took.count()));
        const bool late = late_ || body_ms_left_ == 0;
        // What has arrived is kept, whatever ends the body: the peer can resume behind it.
        in_pool([this, size] { written_ = request_.sink->write(ByteView(piece_).first(size)); },
                [this, error, late] { on_piece_written(error, late); });
    }

    void on_piece_written(beast::error_code error, bool late) {
        if (!written_.ok()) {
            keep_alive_ = false;
            return respond(handler_.refuse_body(written_.error(), request_.request_id));
        }
        if (late && !streamed_->is_done())
            return refuse(408, "the request's body did not arrive in time");
        if (error && is_protocol_error(error) && error != http::error::partial_message &&
            error != http::error::end_of_stream)
            return refuse(400, "the request's body is malformed: " + error.message());
        if (error) return close();
        if (!streamed_->is_done()) return read_piece();
        run();
    }

    /// Ends the read that begins now after `ms`, however much trickles in. Beast's own deadline
    /// would close the socket; this one leaves it open for an answer.
    void limit_reading(std::uint64_t ms) {
        stream_.expires_never();
        late_ = false;
        deadline_.expires_after(Milliseconds(ms));
        deadline_.async_wait([self = shared_from_this(), read = ++reads_](beast::error_code error) {
            // A handler that was queued when its read ended comes without an error.
            if (error || read != self->reads_) return;
            self->late_ = true;
            self->stream_.cancel();
        });
    }

    void end_reading() {
        ++reads_;
        deadline_.cancel();
    }

    void run() {
        in_pool([this] { response_ = handler_.handle(request_); }, [this] { on_handled(); });
    }

    void on_handled() {
        end_body();
        respond(std::move(response_));
    }

    /// Runs `work` in the pool, then `next` on the sockets' thread. No timer runs meanwhile: the
    /// handler's own deadlines bound it.
    template <class F, class Next>
    void in_pool(F work, Next next) {
        stream_.expires_never();
        asio::post(host_.pool(), [self = shared_from_this(), work, next]() mutable {
            work();
            auto* const raw = self.get();
            asio::post(raw->stream_.get_executor(), [self = std::move(self), next] { next(); });
        });
    }

    void too_large() {
        refuse(413, "the body may have at most " + std::to_string(admission_.body_bytes_max) +
                        " bytes here");
    }

    void refuse(unsigned status, const std::string& detail) {
        keep_alive_ = false;
        if (request_.request_id.empty()) request_.request_id = request_id({});
        respond(handler_.refuse(status, detail, request_.request_id));
    }

    void respond(Response response) {
        if (response.stream && !head_only_) {
            if (!host_.stream_begins())
                return refuse(503, "too many downloads are under way; try again");
            stream_body_ = std::move(response.stream);
        }
        if (++requests_ >= options_.requests_per_connection_max) keep_alive_ = false;
        keep_alive_ = keep_alive_ && !closing_;
        reply_.emplace(static_cast<http::status>(response.status), 11);
        reply_->reason(phrase(response.status));
        reply_->set(http::field::server, options_.name);
        reply_->set(http::field::content_type, response.content_type);
        reply_->set("X-Content-Type-Options", "nosniff");
        reply_->set("X-Request-Id", request_.request_id);
        for (const auto& [name, value] : response.headers)
            reply_->set(name, value);
        reply_->keep_alive(keep_alive_);
        if (stream_body_) {
            reply_->content_length(stream_body_->size);
        } else if (head_only_) {
            reply_->content_length(response.stream ? response.stream->size : response.body.size());
        } else {
            reply_->body() = std::move(response.body);
            reply_->prepare_payload();
        }
        stream_.expires_after(Milliseconds(options_.write_timeout_ms));
        write();
    }

    void write() {
        auto done = [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (error) return self->close();
            self->on_written();
        };
        if (!head_only_ && !stream_body_) return http::async_write(stream_, *reply_, done);
        head_serializer_.emplace(*reply_);
        http::async_write_header(stream_, *head_serializer_, done);
    }

    void on_written() {
        head_serializer_.reset();
        if (stream_body_) return send_piece();
        end_of_reply();
    }

    /// The next piece of the body: read in the pool, because a disk may be slow, then sent. Memory
    /// and the peer's time are bounded by the piece, whatever the size of the body.
    void send_piece() {
        BodyStream& body = *stream_body_;
        // Who downloads asks for the rest later.
        if (closing_ && body.size > 0) return close();
        if (body.size == 0) {
            end_stream();
            return end_of_reply();
        }
        piece_.resize(std::min(body.size, kPieceBytes));
        in_pool([this] { piece_read_ = stream_body_->source->read(stream_body_->offset, piece_); },
                [this] { on_piece_read(); });
    }

    void on_piece_read() {
        if (!piece_read_.ok()) {
            // The head is sent: all that is left is to break off. What is no fault here is no
            // error: another server that does not answer would fill the log.
            const bool fault = piece_read_.error().code != ErrorCode::kUnavailable;
            spdlog::log(fault ? spdlog::level::err : spdlog::level::debug, "request {}: {}",
                        request_.request_id, piece_read_.error().message);
            return close();
        }
        stream_body_->offset += piece_.size();
        stream_body_->size -= piece_.size();
        stream_.expires_after(Milliseconds(options_.write_timeout_ms));
        asio::async_write(stream_, asio::buffer(piece_),
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->close();
                              self->send_piece();
                          });
    }

    void end_stream() {
        if (!stream_body_) return;
        stream_body_.reset();
        Bytes().swap(piece_);
        host_.stream_ended();
    }

    void end_of_reply() {
        if (!keep_alive_ || closing_) return linger();
        request_ = {};
        admission_ = {};
        streamed_.reset();
        piece_ = {};
        read_header();
    }

    /// Closing with unread bytes in the socket would reset the connection, and the peer, still
    /// sending, would never see the answer. So: end our side, read on a little, then close.
    void linger() {
        boost::system::error_code ignored;
        stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
        waiting_ = true;
        stream_.expires_after(Milliseconds(kLingerMs));
        discard();
    }

    void discard() {
        stream_.async_read_some(
            asio::buffer(discarded_),
            [self = shared_from_this()](beast::error_code error, std::size_t size) {
                self->discarded_bytes_ += size;
                if (error || self->discarded_bytes_ > kLingerBytesMax) return self->close();
                self->discard();
            });
    }

    void close() {
        if (ended_) return;
        ended_ = true;
        end_stream();
        end_body();
        end_reading();
        boost::system::error_code ignored;
        stream_.socket().close(ignored);
        host_.ended(shared_from_this());
    }

    beast::tcp_stream stream_;
    std::string peer_;
    std::string party_;
    asio::steady_timer deadline_;  // of the read under way
    const ServerOptions& options_;
    Handler& handler_;
    SessionHost& host_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    std::optional<http::request_parser<http::buffer_body>> streamed_;  // in the place of parser_
    Bytes piece_;
    std::uint64_t body_bytes_ = 0;    // reserved for a body in memory
    std::uint64_t body_ms_left_ = 0;  // of a streamed body, without the time that writing takes
    std::chrono::steady_clock::time_point read_began_;
    Status written_;
    std::optional<http::response<http::empty_body>> continue_;
    std::optional<http::response<http::string_body>> reply_;
    std::optional<http::response_serializer<http::string_body>> head_serializer_;
    Request request_;
    Handler::Admission admission_;
    Response response_;
    std::optional<BodyStream> stream_body_;  // what is left to send
    Status piece_read_;
    std::array<char, 4096> discarded_{};
    std::uint64_t discarded_bytes_ = 0;
    std::uint32_t requests_ = 0;
    std::uint64_t reads_ = 0;  // begun and ended
    bool waiting_ = false;     // for a request: nothing is lost by closing
    bool late_ = false;        // the read under way was ended by its deadline
    bool keep_alive_ = false;
    bool head_only_ = false;
    bool closing_ = false;
    bool ended_ = false;
};

}  // namespace

std::shared_ptr<Session> make_session(asio::ip::tcp::socket socket, const ServerOptions& options,
                                      Handler& handler, SessionHost& host) {
    return std::make_shared<HttpSession>(std::move(socket), options, handler, host);
}

}  // namespace gym::http_server
