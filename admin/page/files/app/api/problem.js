// What went wrong with a call, as the API says it (RFC 9457), and what a person can do about it.

const ADVICE = {
  unauthorized: "Sign in again.",
  forbidden: "Ask an administrator for a token with that scope.",
  csrf_token_needed: "Reload the page.",
  redis_unavailable: "Work goes on once it answers; this page tries again by itself.",
  busy: "The page tries again by itself.",
  ledger_unavailable: "History is away; what runs and waits now is shown all the same. Is the process `ledger` running?",
  pods_unavailable: "The page tries again by itself; the workers have their own connection.",
  not_found: "It may have been forgotten: records are kept for a time that the settings say.",
  changed_meanwhile: "Somebody else changed it: look at the new value, then change it again.",
  rate_limited: "Wait a moment: the page goes on by itself.",
  queue_full: "Nothing was kept. Send it again later, or raise max_queue_size.",
  not_pending: "It has begun or ended meanwhile.",
  ended: "It has ended meanwhile: nothing is left to do.",
  too_many_bulks: "Wait until the other one is done, then try again.",
  too_many_files: "Wait until another file is done, then try again.",
  too_large: "Split the file, or ask an administrator to raise api.max_upload_bytes.",
  lines_refused: "Correct these lines, or add each line that is right.",
  too_many_followers: "Close other pages that follow an output, then try again.",
  unreachable: "The page tries again by itself. Is the process `api` running?",
};

export class Problem extends Error {
  constructor({ status = 0, code = "failed", detail = "", field = null, retrySeconds = null, lines = [], refused = 0 }) {
    super(detail || code.replaceAll("_", " "));
    this.status = status;
    this.code = code;
    this.field = field;
    this.retrySeconds = retrySeconds;
    // Of a file of which nothing was added: the first lines that are wrong, and how many are.
    this.lines = lines;
    this.refused = refused;
  }

  get advice() {
    return ADVICE[this.code] ?? "";
  }

  static unreachable() {
    return new Problem({ code: "unreachable", detail: "The API does not answer." });
  }

  static async of(response) {
    const retry = Number(response.headers.get("Retry-After"));
    const told = { status: response.status, retrySeconds: retry > 0 ? retry : null };
    try {
      const { code, detail, field, lines, refused } = await response.json();
      return new Problem({ ...told, code, detail, field, lines, refused });
    } catch {
      return new Problem({ ...told, detail: `The API answered with ${response.status}.` });
    }
  }
}
