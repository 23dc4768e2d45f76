// Reads server-sent events of an answer (WHATWG HTML, 9.2). `EventSource` could not say why it is refused, and would
// not go on after an event that another connection got.

export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const whole = rest.lastIndexOf("\n\n");
      if (whole < 0) continue;
      const blocks = rest.slice(0, whole).split("\n\n");
      rest = rest.slice(whole + 2);
      for (const block of blocks) {
        const event = read(block);
        if (event) yield event;
      }
      // What a batch means is told once.
      yield null;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function read(block) {
  const event = { id: null, name: "message", data: "" };
  let isEmpty = true;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("id:")) event.id = value;
    else if (line.startsWith("event:")) event.name = value;
    else if (line.startsWith("data:")) event.data += value;
    else continue;
    isEmpty = false;
  }
  return isEmpty ? null : event;
}

// Between half a second and five, and never all browsers at once when the API comes back.
export function pauseMs(failures) {
  return Math.min(5000, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
}
