package text

import (
	"strings"
	"unicode"
)

// transliterate replaces the characters that the alphabet does not have by lookalikes that it may have. What has no
// lookalike stays.
func transliterate(s string, has func(rune) bool) string {
	var out strings.Builder
	out.Grow(len(s))
	for _, r := range s {
		if has(r) {
			out.WriteRune(r)
			continue
		}
		if like, ok := lookalike(r); ok {
			out.WriteString(like)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// lookalike returns what reads nearly like a character in plain ASCII. Invisible characters and combining marks become
// nothing.
func lookalike(r rune) (string, bool) {
	if like, ok := likeSign(r); ok {
		return like, true
	}
	if base, ok := baseLetter(r); ok {
		return string(base), true
	}
	switch {
	case r >= 0x0300 && r <= 0x036F: // combining diacritical marks
		return "", true
	case unicode.Is(unicode.Zs, r):
		return " ", true
	}
	return "", false
}

// likeSign covers punctuation, signs and ligatures.
func likeSign(r rune) (string, bool) {
	switch r {
	case '‘', '’', '‚', '‛', '′', '`', '´', 'ʼ', 'ʻ', '‹', '›':
		return "'", true
	case '“', '”', '„', '‟', '″', '«', '»':
		return `"`, true
	case '‐', '‑', '‒', '–', '—', '―', '−', '­':
		return "-", true
	case '…':
		return "...", true
	case '•', '·', '∙':
		return "*", true
	case '×':
		return "x", true
	case '÷':
		return ":", true
	case '\t', '\u2028', '\u2029':
		return " ", true
	case '\u200B', '\u200C', '\u200D', '\u2060', '\uFEFF':
		return "", true
	case '©':
		return "(c)", true
	case '®':
		return "(R)", true
	case '™':
		return "(TM)", true
	case '°':
		return "o", true
	case '¦':
		return "|", true
	case '½':
		return "1/2", true
	case '¼':
		return "1/4", true
	case '¾':
		return "3/4", true
	case '²':
		return "2", true
	case '³':
		return "3", true
	case '¹':
		return "1", true
	case 'Æ':
		return "AE", true
	case 'æ':
		return "ae", true
	case 'ß':
		return "ss", true
	case 'Œ':
		return "OE", true
	case 'œ':
		return "oe", true
	case 'þ':
		return "th", true
	case 'Þ':
		return "TH", true
	case '№':
		return "No", true
	case '€':
		return "EUR", true
	}
	return "", false
}

// baseLetter strips the mark from a Latin letter.
func baseLetter(r rune) (rune, bool) {
	const marked = "aáâãāăąàäå AÁÂÃĀĂĄÀÄÅ cçćĉċč CÇĆĈĊČ dďđð DĎĐÐ eêëēĕėęěèé EÊËĒĔĖĘĚÈÉ gĝğġģ GĜĞĠĢ hĥħ HĤĦ " +
		"iíîïĩīĭįıì IÍÎÏĨĪĬĮİÌ jĵ JĴ kķĸ KĶ lĺļľŀł LĹĻĽĿŁ nńņňŉñ NŃŅŇÑ oóôõōŏőòöø OÓÔÕŌŎŐÒÖØ rŕŗř RŔŖŘ sśŝşšș SŚŜŞŠȘ " +
		"tţťŧț TŢŤŦȚ uúûũūŭůűųùü UÚÛŨŪŬŮŰŲÙÜ wŵ WŴ yýÿŷ YÝŶŸ zźżž ZŹŻŽ"
	i := strings.IndexRune(marked, r)
	if i < 0 || r < 0x80 {
		return 0, false
	}
	start := strings.LastIndexByte(marked[:i], ' ') + 1
	return rune(marked[start]), true
}
