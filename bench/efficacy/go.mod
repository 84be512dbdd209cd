module writ/bench/efficacy

go 1.26.0

replace writ => ../..

require writ v0.0.0-00010101000000-000000000000

require github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
