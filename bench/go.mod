module writ/bench

go 1.26
