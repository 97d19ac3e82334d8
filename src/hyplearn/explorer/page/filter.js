// Which points are shown, and how many.

export class Filter {
  constructor(n) {
    this.shown = new Uint8Array(n).fill(1);
    this.hidden = new Set();
    this.onlyWrong = false;
    this.mostConfidence = 1;
  }

  toggle(code) {
    if (!this.hidden.delete(code)) this.hidden.add(code);
  }

  // Only this class; all of them if it is the only one already.
  only(code, nClasses) {
    const others = Array.from({ length: nClasses }, (_, k) => k).filter((k) => k !== code);
    const isAlone = !this.hidden.has(code) && others.every((k) => this.hidden.has(k));
    this.hidden = new Set(isAlone ? [] : others);
  }

  // Count the points shown and, where labels are known, those among all that are predicted wrongly.
  apply({ codes, labels, predicted, confidence }) {
    const counts = { shown: 0, wrong: 0, shownWrong: 0 };
    for (let i = 0; i < this.shown.length; i++) {
      const isWrong = labels !== null && labels[i] !== predicted[i];
      const isSure = confidence !== null && this.mostConfidence < 1 && confidence[i] > this.mostConfidence;
      const isShown = !this.hidden.has(codes[i]) && !(this.onlyWrong && !isWrong) && !isSure;
      this.shown[i] = isShown ? 1 : 0;
      counts.shown += isShown ? 1 : 0;
      counts.wrong += isWrong ? 1 : 0;
      counts.shownWrong += isShown && isWrong ? 1 : 0;
    }
    return counts;
  }
}
