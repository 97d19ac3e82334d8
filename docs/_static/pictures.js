// A picture of a page is a link to its file, which a reader with a small screen can enlarge.
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll("article img")) {
    if (picture.closest("a")) continue;
    const link = document.createElement("a");
    Object.assign(link, { href: picture.src, className: "picture", title: "Open this picture" });
    picture.replaceWith(link);
    link.append(picture);
  }
});
