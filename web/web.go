// Package web holds the dashboard's files for the server to serve. A build
// without the dashboard serves a page that says so and points to the API. It also
// ends sign-ins that began elsewhere: it exchanges the code that the callback left
// in its address, and says who is signed in.
//
// It also holds Swagger UI, compressed, which scripts/swagger-ui fetches.
package web

import (
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
)

//go:embed swagger-ui/*.gz
var viewer embed.FS

// SwaggerUI reads a file of the viewer of the API documentation.
func SwaggerUI(name string) ([]byte, error) {
	file, err := viewer.Open("swagger-ui/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unzipped)
}

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
