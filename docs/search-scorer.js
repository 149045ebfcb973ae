// How the search of the site ranks pages. By default, all pages that have the words of a query get nearly the same score,
// and are sorted by title. Here, words in headings count more, and words in the title of a page most; pages about the
// code, measurements and lists come last. Some words are searched for as others, which the pages have.
var SYNONYMS = { gpus: "gpu", multiple: "several", oom: "out of memory", "w&b": "wandb" };

// Return the words of a text. Sphinx calls this for queries.
var splitQuery = (text) =>
  text
    .split(/\s+/)
    .map((word) => SYNONYMS[word.toLowerCase()] ?? word)
    .join(" ")
    .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu)
    .filter((word) => word);

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  last: /^(ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY|docs\/(literature|mutants|licenses|measurements|reproductions|.*-notes))$/,

  stems: (text) => {
    const stemmer = new Stemmer();
    const words = splitQuery(text.toLowerCase().replaceAll("_", " ")).filter((word) => !stopwords.has(word));
    return words.map((word) => stemmer.stemWord(word));
  },

  // Return the score of a page that has all words of a query: from 5 (none in a heading) to 19 (all in its title).
  page: (name, query) => {
    const { docnames, titles, alltitles } = Search._index;
    const number = docnames.indexOf(name);
    const wanted = Scorer.stems(query);
    const share = (stems) => wanted.filter((stem) => stems.includes(stem)).length / Math.max(1, wanted.length);
    const headings = Object.entries(alltitles)
      .filter(([, places]) => places.some(([page]) => page === number))
      .map(([heading]) => Scorer.stems(heading));
    const together = Math.max(0, ...headings.map(share)); // in one heading
    return 5 + 5 * share(Scorer.stems(titles[number])) + 5 * share(headings.flat()) + 4 * together ** 2;
  },

  // Sphinx calls this for each result: a page, a heading or an object.
  score: ([name, , , , score, , kind]) => {
    const query = new URLSearchParams(window.location.search).get("q") ?? "";
    return (kind === "text" ? Scorer.page(name, query) : score) - (Scorer.last.test(name) ? 10 : 0);
  },
};
