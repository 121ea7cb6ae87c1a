package config

import (
	"time"

	"sluice/classify"
)

// Status overrides the meaning of one command_status. In YAML it is a class
// alone or {class, hold}.
type Status struct {
	// What the status means: ok, throttle, retry, terminal, config or unknown.
	Class classify.Class `yaml:"class"`
	// Wait that the status asks for before the next submit, at most 24h; only for throttle and retry. Default 0.
	Hold time.Duration `yaml:"hold"`
}

// UnmarshalText accepts a class alone.
func (s *Status) UnmarshalText(text []byte) error {
	*s = Status{}
	return s.Class.UnmarshalText(text)
}

// MarshalYAML writes a class alone when there is no hold.
func (s Status) MarshalYAML() (any, error) {
	if s.Hold == 0 {
		return s.Class.String(), nil
	}
	return map[string]string{"class": s.Class.String(), "hold": formatDuration(s.Hold)}, nil
}

// StatusTable is the default table with the account's profile and statuses
// laid over it.
func (a *Account) StatusTable() (*classify.Table, error) {
	overrides := make(map[string]classify.Override, len(a.Statuses))
	for key, s := range a.Statuses {
		overrides[key] = classify.Override(s)
	}
	return classify.Default().With(a.Profile, overrides)
}
