// What the page is built of: everything else imports it from here.
export {
  html, render, createContext, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState,
} from "../vendor/preact/htm-preact.js";
