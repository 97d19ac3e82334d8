// Filters that decide which points are shown.

export class Filter {
  constructor(n) {
    this.shown = new Uint8Array(n).fill(1);
    this.hidden = new Set();
    this.hiddenCategories = new Set();
    this.onlyWrong = false;
    this.onlyDisagreement = false;
    this.mostConfidence = 1;
  }

  // Update the mask of the shown points. Return the number of shown points, the number of misclassified points for each
  // model (0 if there are no labels), and the number of points on which two models disagree.
  apply({ codes, categories, labels, models }) {
    const wrongs = models.map(() => 0);
    const counts = { shown: 0, wrongs, disagree: 0 };
    const [first, second] = models;
    const { confidence } = first;
    const least = this.mostConfidence < 1 && confidence !== null ? this.mostConfidence : Infinity;
    for (let i = 0; i < this.shown.length; i++) {
      let isWrong = false;
      for (let k = 0; labels !== null && k < models.length; k++) {
        if (models[k].predicted[i] === labels[i]) continue;
        wrongs[k] += 1;
        isWrong = true;
      }
      const isDisputed = second !== undefined && first.predicted[i] !== second.predicted[i];
      if (isDisputed) counts.disagree += 1;
      const isShown = !this.hidden.has(codes[i]) && !(categories && this.hiddenCategories.has(categories[i]))
        && (isWrong || !this.onlyWrong) && (isDisputed || !this.onlyDisagreement) && !(confidence !== null && confidence[i] > least);
      this.shown[i] = isShown ? 1 : 0;
      if (isShown) counts.shown += 1;
    }
    return { ...counts, wrong: wrongs[0] };
  }
}

// Hide the entry with this code, or show it again if it is hidden.
export function toggle(hidden, code) {
  if (!hidden.delete(code)) hidden.add(code);
}

// Hide all entries except one; if the others are hidden already, show all entries.
export function only(hidden, code, many) {
  const others = Array.from({ length: many }, (_, k) => k).filter((k) => k !== code);
  const isAlone = !hidden.has(code) && others.every((k) => hidden.has(k));
  hidden.clear();
  if (!isAlone) others.forEach((k) => hidden.add(k));
}
