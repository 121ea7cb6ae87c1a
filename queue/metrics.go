package queue

import "time"

// Metrics are the numbers of this package.
type Metrics struct{}

func (m *Metrics) orDiscard() *Metrics { return m }

func (m *Metrics) stored(time.Duration) {}
func (m *Metrics) failed()              {}
func (m *Metrics) redelivered(string)   {}
func (m *Metrics) pulled(int)           {}
func (m *Metrics) pullEnded(string)     {}
func (m *Metrics) lost(int)             {}
func (m *Metrics) adopted()             {}
func (m *Metrics) released()            {}
func (m *Metrics) rebuilt()             {}
