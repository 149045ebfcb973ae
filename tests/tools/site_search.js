// Search a built site as its page of results does: node site_search.js SITE QUERY... prints a JSON list of the addresses
// that each query finds, best first.
const { readFileSync } = require("fs");
const { createContext, runInContext } = require("vm");

const [site, ...queries] = process.argv.slice(2);
const element = () => ({ dataset: {}, classList: { add() {} } });
const window = { location: { search: "" } };
const context = createContext({
  URLSearchParams,
  window,
  document: { addEventListener() {}, createElement: element, documentElement: element(), getElementById: element },
  localStorage: { setItem() {} },
  SPHINX_HIGHLIGHT_ENABLED: false,
  _: (text) => text,
  _ready: () => {},
});
const files = ["_static/base-stemmer.js", "_static/english-stemmer.js", "_static/searchtools.js", "_static/language_data.js"];
const code = [...files, "searchindex.js"].map((name) => readFileSync(`${site}/${name}`, "utf-8")).join("\n");
runInContext(code.replace(/^window\.Stemmer = .*$/m, "var Stemmer = EnglishStemmer;") + "\nvar search = Search;", context);

const results = queries.map((query) => {
  window.location.search = `?q=${encodeURIComponent(query)}`;
  const hits = context.search._performSearch(...context.search._parseQuery(query));
  return hits.reverse().map(([name, , anchor]) => name + anchor);
});
console.log(JSON.stringify(results));
