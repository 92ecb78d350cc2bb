/* A page that was opened from a file may start no Worker, which the search runs in: a hidden frame runs it instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #posted = []; // before the script has run

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        const posted = this.#posted;
        this.#posted = null;
        posted.forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.#posted) this.#posted.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {}
  };
}
