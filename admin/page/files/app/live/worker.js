// The one follower of all tabs of a browser, in a worker that they share.
import { Follower } from "./follower.js";

const ports = new Set();
let state = "away";
const follower = new Follower((told) => {
  state = told.state;
  for (const port of ports) port.postMessage(told);
});

function stop() {
  follower.stop();
  state = "away";
}

self.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = ({ data }) => {
    if (data === "signed in") {
      // A tab that comes later finds it running.
      if (state !== "live") follower.start();
      else port.postMessage({ state });
    } else if (data === "signed out") {
      stop();
    } else if (data === "bye") {
      ports.delete(port);
      if (!ports.size) stop();
    }
  };
};
