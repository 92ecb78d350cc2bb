// Node's http: its own agent, which keeps connections.
"use strict";
const http = require("http");

function ask(method, url) {
  return new Promise((resolve) => {
    const request = http.request(url, { method }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    request.on("error", (error) => {
      console.error(method, url, String(error));
      resolve(0);
    });
    request.end();
  });
}

async function main([count, ...roots]) {
  const end = "&user.name=alice";
  for (const root of roots) {
    let read = 0;
    let written = 0;
    for (let i = 0; i < count; i++) {
      read += (await ask("GET", `${root}/f?op=GETFILESTATUS${end}`)) === 200;
    }
    for (let i = 0; i < count; i++) {
      const status = i % 2 === 0
        ? await ask("PUT", `${root}/w${i}?op=MKDIRS${end}`)
        : await ask("POST", `${root}/g?op=TRUNCATE&newlength=0${end}`);
      written += status === 200;
    }
    console.log(`${read} ${written}`);
  }
}

main(process.argv.slice(2)).then(() => process.exit(0));
