#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The pure steps that look at one document. Each takes UTF-8. Safe from any thread; the same on
/// every machine, for one version of ICU and CLD2.
namespace gym::data {

/// Why a rule removed a document, a name that never changes; empty: it did not.
using Reason = std::string_view;

/// NFC, line feeds as line ends, no other control characters than tabs, no white space at the ends
/// of lines, at most one blank line in a row and none around the document.
/// @return "not UTF-8" or "empty", and then `text` has no meaning.
[[nodiscard]] Reason normalise(std::string& text);

/// The quality rules of Gopher (Rae et al., "Scaling Language Models", arXiv:2112.11446, appendix
/// A1.1): 50 to 100,000 words; 3 to 10 letters a word on average; at most one '#' and one ellipsis
/// for ten words; at most 90 % of lines that begin with a bullet and 30 % that end with an
/// ellipsis; a letter in at least 80 % of words; two of "the be to of and that have with". Words
/// are what white space separates, so the rules suit English.
[[nodiscard]] Reason gopher_quality(std::string_view text);

/// The repetition rules of the same paper (table A1): of lines and of paragraphs, at most 30 % may
/// repeat earlier ones, with at most 20 % of the text; at most 20, 18 and 16 % of the text may be
/// the most frequent 2-, 3- and 4-gram of words, and 15 to 10 % repeated 5- to 10-grams. Shares of
/// the text are of its bytes.
[[nodiscard]] Reason gopher_repetition(std::string_view text);

/// C4's rules (Raffel et al., JMLR 21(140), section 2.2): keeps lines of at least five words that
/// end with . ! ? or a quotation mark and speak neither of "javascript" nor of cookies and terms of
/// use; then removes documents with fewer than three sentences, with "lorem ipsum" or with '{'. The
/// paper's list of bad words is not applied.
[[nodiscard]] Reason c4(std::string& text);

/// The language of a text as CLD2 sees it: an ISO 639 code ("en"), "un" where it is not sure.
[[nodiscard]] std::string_view language_of(std::string_view text);
/// Every code that language_of() can give, sorted.
[[nodiscard]] const std::vector<std::string_view>& language_codes();

/// How many of each were replaced.
struct Masked {
    std::size_t emails = 0, phones = 0, addresses = 0, cards = 0;
    [[nodiscard]] std::size_t total() const { return emails + phones + addresses + cards; }
};
/// Replaces personal data by <email>, <phone>, <ip> and <card>:
/// - e-mail addresses: name@domain.tld, of letters, digits and ._%+-
/// - IPv4 and IPv6 addresses that inet_pton(3) takes
/// - payment cards: 13 to 19 digits, single blanks or hyphens between them, of a right check digit
///   (Luhn, ISO/IEC 7812) and a first digit of 2 to 6
/// - phone numbers: + and 8 to 15 digits, in groups or not; North American ones, ddd-ddd-dddd with
///   dots, blanks or (ddd) as well. Other national forms are not recognised.
/// Nothing is replaced within a word or a longer number. ASCII only.
[[nodiscard]] Masked mask(std::string& text);

}  // namespace gym::data
