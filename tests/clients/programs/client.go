// Go's net/http with its default client.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func ask(method, url string) int {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		panic(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 0
	}
	return response.StatusCode
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	end := "&user.name=alice"
	for _, root := range os.Args[2:] {
		read, written := 0, 0
		for i := 0; i < count; i++ {
			if ask("GET", root+"/f?op=GETFILESTATUS"+end) == 200 {
				read++
			}
		}
		for i := 0; i < count; i++ {
			status := 0
			if i%2 == 0 {
				status = ask("PUT", fmt.Sprintf("%s/w%d?op=MKDIRS%s", root, i, end))
			} else {
				status = ask("POST", root+"/g?op=TRUNCATE&newlength=0"+end)
			}
			if status == 200 {
				written++
			}
		}
		fmt.Println(read, written)
	}
}
