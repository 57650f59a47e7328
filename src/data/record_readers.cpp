#include "record_readers.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gym::data {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;

bool is_blank(const std::string& line) {
    return std::ranges::all_of(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

/// A record a line; blank lines are none.
class Lines final : public RecordReader {
  public:
    explicit Lines(std::unique_ptr<ByteSource> source)
        : source_(std::move(source)), lines_(*source_) {}
    Result<bool> next(Record& out) override {
        while (true) {
            GYM_TRY(const bool more, lines_.next(out.bytes, kDocumentBytesMax));
            if (!more) return false;
            if (is_blank(out.bytes)) continue;
            out.number = lines_.number();
            return true;
        }
    }

  private:
    std::unique_ptr<ByteSource> source_;
    LineReader lines_;
};

/// A record between blank lines, named by its first line.
class Paragraphs final : public RecordReader {
  public:
    explicit Paragraphs(std::unique_ptr<ByteSource> source)
        : source_(std::move(source)), lines_(*source_) {}
    Result<bool> next(Record& out) override {
        out.bytes.clear();
        while (true) {
            GYM_TRY(const bool more, lines_.next(line_, kDocumentBytesMax));
            if (!more || is_blank(line_)) {
                if (!out.bytes.empty()) return true;
                if (!more) return false;
                continue;
            }
            if (out.bytes.empty())
                out.number = lines_.number();
            else
                out.bytes += '\n';
            out.bytes += line_;
            if (out.bytes.size() > kDocumentBytesMax)
                return fail(ErrorCode::kOutOfRange,
                            "the document that begins in line " + std::to_string(out.number) +
                                " has more than " + std::to_string(kDocumentBytesMax) +
                                " bytes; --documents lines makes one of every line");
        }
    }

  private:
    std::unique_ptr<ByteSource> source_;
    LineReader lines_;
    std::string line_;
};

class WholeText final : public RecordReader {
  public:
    explicit WholeText(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
    Result<bool> next(Record& out) override {
        if (std::exchange(done_, true)) return false;
        out.number = 1;
        out.bytes.clear();
        while (true) {
            const std::size_t used = out.bytes.size();
            out.bytes.resize(used + kReadBytes);
            GYM_TRY(const std::size_t got,
                    source_->read(
                        {reinterpret_cast<std::uint8_t*>(out.bytes.data()) + used, kReadBytes}));
            out.bytes.resize(used + got);
            if (got == 0) return true;
            if (out.bytes.size() > kDocumentBytesMax)
                return fail(ErrorCode::kOutOfRange,
                            "the text has more than " + std::to_string(kDocumentBytesMax) +
                                " bytes, too many for one document; --documents blank-lines or "
                                "--documents lines divides it");
        }
    }

  private:
    std::unique_ptr<ByteSource> source_;
    bool done_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> json_lines(std::unique_ptr<ByteSource> source) {
    return std::make_unique<Lines>(std::move(source));
}
std::unique_ptr<RecordReader> text_lines(std::unique_ptr<ByteSource> source) {
    return std::make_unique<Lines>(std::move(source));
}
std::unique_ptr<RecordReader> text_paragraphs(std::unique_ptr<ByteSource> source) {
    return std::make_unique<Paragraphs>(std::move(source));
}
std::unique_ptr<RecordReader> whole_text(std::unique_ptr<ByteSource> source) {
    return std::make_unique<WholeText>(std::move(source));
}

}  // namespace gym::data
