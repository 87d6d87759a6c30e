// The boxes are the groups with a title: a rectangle, and a text if there was room for one.
const margin = 10, width = 1180, letter = 6.6;
const boxes = [...document.querySelectorAll("g")].map(group => {
  const rect = group.querySelector("rect");
  const number = name => parseFloat(rect.getAttribute(name));
  const name = group.querySelector("title").textContent.replace(/: \d+ \([\d.]+ %\)$/, "");
  return { group, rect, name, x: number("x"), y: number("y"), width: number("width") };
});
function show(box, x, width) {
  box.rect.setAttribute("x", x);
  box.rect.setAttribute("width", width);
  let text = box.group.querySelector("text");
  if (!text) {
    text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("y", box.y + 12);
    box.group.appendChild(text);
  }
  const letters = Math.floor(width / letter);
  text.setAttribute("x", x + 3);
  text.textContent = letters < 3 ? "" : box.name.length > letters ? box.name.slice(0, letters - 2) + ".." : box.name;
}
function enlarge(chosen) {
  const scale = width / chosen.width, end = chosen.x + chosen.width, little = 0.01;
  for (const box of boxes) {
    const below = box.y > chosen.y && box.x <= chosen.x + little && box.x + box.width >= end - little;
    const above = box.y <= chosen.y && box.x >= chosen.x - little && box.x + box.width <= end + little;
    box.group.style.display = below || above ? "" : "none";
    if (below) show(box, margin, width);
    if (above) show(box, margin + (box.x - chosen.x) * scale, box.width * scale);
  }
}
for (const box of boxes) {
  box.group.style.cursor = "pointer";
  box.group.addEventListener("click", () => enlarge(box));
}
