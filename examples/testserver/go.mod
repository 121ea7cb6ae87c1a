module example.com/sender

go 1.26.0

require sluice v0.0.0

require github.com/goccy/go-yaml v1.19.2 // indirect

replace sluice => ../..
