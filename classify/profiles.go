package classify

import (
	_ "embed" // the profiles are data
	"fmt"
	"slices"
	"strings"
)

//go:embed vendor_profiles.csv
var vendorProfilesCSV []byte

// Profiles returns the names of the vendor profiles in alphabetical order.
func Profiles() []string {
	var names []string
	for _, rec := range profileRecords() {
		names = append(names, rec[0])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// profileRecords returns the rows of all profiles: profile, phase, code_hex, meaning, class, field_shape, source.
func profileRecords() [][]string {
	records, err := readRecords(vendorProfilesCSV, 7)
	if err != nil {
		panic("classify: the embedded profiles are broken: " + err.Error()) // a fault of the build, not of any input
	}
	return records
}

// profileName turns a vendor's name as people write it ("OpenMarket v4", "SerwerSMS.pl") into the name of a
// profile: lower case, with one dash for each run of other characters.
func profileName(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// profileRules returns the rules of one profile. What a vendor says of a submit it also says in a generic_nack.
func profileRules(name string) ([]rule, error) {
	wanted := profileName(name)
	var rules []rule
	for _, rec := range profileRecords() {
		if rec[0] != wanted {
			continue
		}
		r, err := parseProfileRule(rec)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", wanted, err)
		}
		rules = append(rules, r)
	}
	if rules == nil {
		return nil, fmt.Errorf("profile %q is not known: use one of %s, or leave it empty", name, strings.Join(Profiles(), ", "))
	}
	return rules, nil
}

// parseProfileRule reads one row of the profiles.
func parseProfileRule(rec []string) (rule, error) {
	r := rule{meaning: rec[3], shape: rec[5] == "yes", source: rec[6], origin: "profile " + rec[0]}
	switch rec[1] {
	case Submit.String():
		r.phases = []Phase{Submit, Nack}
	case Bind.String():
		r.phases = []Phase{Bind}
	default:
		return rule{}, fmt.Errorf("phase %q is not submit or bind", rec[1])
	}
	var err error
	if r.status, err = parseStatus(rec[2]); err != nil {
		return rule{}, err
	}
	r.class, err = ParseClass(rec[4])
	return r, err
}
