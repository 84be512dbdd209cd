// Package web holds the dashboard's files for the server to serve. A build
// without the dashboard serves a page that says so and points to the API. It also
// ends sign-ins that began elsewhere: it exchanges the code that the callback left
// in its address, and says who is signed in.
package web

import (
	"embed"
	"io/fs"
)

//go:embed placeholder
var files embed.FS

// Files are the pages, index.html at the root.
func Files() fs.FS {
	sub, err := fs.Sub(files, "placeholder")
	if err != nil {
		panic(err) // the pattern above names the folder
	}
	return sub
}
