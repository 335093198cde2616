// Search where pages are opened as files: browsers start no worker there, so its script runs in a hidden frame.
// The theme asks for the name IFrameWorker, and for an importScripts that can be waited for.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const own = (this.own = frame.contentWindow);
      own.postMessage = (data) => {
        const told = new MessageEvent("message", { data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      };
      own.importScripts = (...urls) =>
        urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      this.load(new URL(url, document.baseURI).href).then(() => {
        this.ready = true;
        this.waiting.forEach((data) => this.postMessage(data));
      });
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.own.document.createElement("script");
        Object.assign(script, { src: url, onload: resolve, onerror: reject });
        this.own.document.body.append(script);
      });
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.own.dispatchEvent(new this.own.MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
// The theme's search is a dialog without a name.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll('.md-search[role="dialog"]').forEach((one) => one.setAttribute("aria-label", "Search")),
);
